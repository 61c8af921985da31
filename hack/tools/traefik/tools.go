//go:build tools

// Package tools pins the Gateway controller of the tests with real HTTP.
package tools

import _ "github.com/traefik/traefik/v3/cmd/traefik"
