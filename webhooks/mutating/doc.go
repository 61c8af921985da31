// Package mutating ties Pods to their gangs. It is pure: the adapter in webhooks finds the
// ModelServing, and this package says whether the Pod belongs to it and what the Pod must carry.
//
// ModelServings and VLLMServices have no mutating part: all their defaults stand in their schemas.
package mutating
