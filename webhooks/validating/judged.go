package validating

import (
	"iter"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// enough faults of one object are as good as all: nobody reads more, and an object of megabytes must
// not cost seconds.
const enough = 100

// judged yields the indexes of a list of n items until there are enough faults.
func judged(n int, errs *field.ErrorList) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := range n {
			if len(*errs) >= enough || !yield(i) {
				return
			}
		}
	}
}
