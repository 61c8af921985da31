package certs

import "time"

// Policy says how long certificates live. What has used up two thirds of its own life is renewed.
type Policy struct {
	// CALifetime is how long a new CA is valid. It should exceed three times LeafLifetime, so that a
	// serving certificate is never cut short by its CA.
	CALifetime time.Duration
	// LeafLifetime is how long a new serving certificate is valid. It ends with its CA at the latest.
	LeafLifetime time.Duration
	// Overlap is how long a new CA is in the bundle before it signs: the time that the slowest API
	// server may take to learn a webhook configuration.
	Overlap time.Duration
	// Backdate moves the start of validity into the past, for clocks that are behind.
	Backdate time.Duration
}

// DefaultPolicy is a CA per year, a serving certificate per quarter, ten minutes between the trust in a
// CA and its use, and clocks up to five minutes behind.
func DefaultPolicy() Policy {
	const day = 24 * time.Hour
	return Policy{CALifetime: 365 * day, LeafLifetime: 90 * day, Overlap: 10 * time.Minute, Backdate: 5 * time.Minute}
}
