//go:build race

package plan_test

// defaultSeeds is fewer under the race detector, which makes a run five times as long: the planner has
// one goroutine. make unit runs all of them without it.
const defaultSeeds = 300
