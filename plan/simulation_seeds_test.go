//go:build !race

package plan_test

// defaultSeeds is how many simulated clusters TestSimulation runs.
const defaultSeeds = 3000
