package names_test

import (
	"math"
	"testing"

	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
	"github.com/gangway-serving/gangway/plan/names"
)

func TestSize(t *testing.T) {
	const most = math.MaxInt32
	role := gangwaytesting.MakeRole
	for name, tc := range map[string]struct {
		ms   *gangwaytesting.ModelServingWrapper
		per  int64
		size int64
	}{
		"roles with and without workers": {
			ms:  gangwaytesting.MakeModelServing("ms").Replicas(3).Role(role("a").Replicas(2).Workers(3).Obj()).Role(role("b").Obj()),
			per: 9, size: 27,
		},
		"groups without Pods are objects, too": {
			ms: gangwaytesting.MakeModelServing("ms").Replicas(7).Role(role("a").Replicas(0).Obj()), per: 0, size: 7,
		},
		"nothing is wanted": {
			ms: gangwaytesting.MakeModelServing("ms").Replicas(0).Role(role("a").Obj()), per: 1, size: 0,
		},
		"the largest numbers there are": {
			ms:  gangwaytesting.MakeModelServing("ms").Replicas(most).Role(role("a").Replicas(most).Workers(most).Obj()).Role(role("b").Replicas(most).Workers(most).Obj()),
			per: 2 * most * (most + 1), size: math.MaxInt64,
		},
		"negative numbers count for nothing": {
			ms: gangwaytesting.MakeModelServing("ms").Replicas(2).Role(role("a").Replicas(-5).Obj()).Role(role("b").Obj()), per: 1, size: 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			ms := tc.ms.Obj()
			if per := names.PodsOfGroup(&ms.Spec); per != tc.per {
				t.Errorf("%d Pods of a group, want %d", per, tc.per)
			}
			if size := names.Size(&ms.Spec, *ms.Spec.Replicas); size != tc.size {
				t.Errorf("size %d, want %d", size, tc.size)
			}
		})
	}
}
