//go:build tools

// Package tools pins the program that simulates nodes and their kubelets.
package tools

import _ "sigs.k8s.io/kwok/cmd/kwok"
