//go:build tools

// Package tools pins the generator of deepcopy functions, CRDs and RBAC.
package tools

import _ "sigs.k8s.io/controller-tools/cmd/controller-gen"
