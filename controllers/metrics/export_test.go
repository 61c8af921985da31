package metrics

// ResetCounters lets a test count from zero.
func ResetCounters() {
	recoveries.Reset()
	writes.Reset()
	writeFailures.Reset()
}
