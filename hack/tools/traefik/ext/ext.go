// Package ext stands in for a module inside traefik's repository that is not
// published: the fields that a build of traefik may add to its configuration.
// This build adds none.
package ext

// HTTP is added to the HTTP part of a dynamic configuration.
type HTTP struct{}

// Router is added to a router of a dynamic configuration.
type Router struct{}
