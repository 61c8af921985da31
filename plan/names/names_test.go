package names_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
	"github.com/gangway-serving/gangway/plan/names"
)

func TestNamesAreThoseOfTheField(t *testing.T) {
	group, roleID := names.Group("sample", 3), names.RoleReplica("prefill", 10)
	got := []string{
		group, roleID,
		names.Pod(group, roleID, 0), names.Pod(group, roleID, 2),
		names.EntryService(group, roleID),
		names.EntryAddress(group, roleID, "ai-demo"),
		names.Revision("sample", "7d9f"),
	}
	want := []string{
		"sample-3", "prefill-10",
		"sample-3-prefill-10-0", "sample-3-prefill-10-2",
		"sample-3-prefill-10-0",
		"sample-3-prefill-10-0.ai-demo",
		"sample-7d9f",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

func TestOrdinalsReadBackOnlyWhatWasWritten(t *testing.T) {
	type answer struct {
		Ordinal int
		OK      bool
	}
	cases := map[string]struct {
		read func() (int, bool)
		want answer
	}{
		"a group":                                  {func() (int, bool) { return names.GroupOrdinal("sample", "sample-12") }, answer{12, true}},
		"a group of a ModelServing with digits":    {func() (int, bool) { return names.GroupOrdinal("a-1", "a-1-2") }, answer{2, true}},
		"a group of another ModelServing":          {func() (int, bool) { return names.GroupOrdinal("sample", "other-1") }, answer{}},
		"a group of one whose name is a prefix":    {func() (int, bool) { return names.GroupOrdinal("a", "a-1-2") }, answer{}},
		"a leading zero is another name":           {func() (int, bool) { return names.GroupOrdinal("sample", "sample-01") }, answer{}},
		"a sign is no ordinal":                     {func() (int, bool) { return names.GroupOrdinal("sample", "sample-+1") }, answer{}},
		"minus one is no ordinal":                  {func() (int, bool) { return names.GroupOrdinal("sample", "sample--1") }, answer{}},
		"nothing is no ordinal":                    {func() (int, bool) { return names.GroupOrdinal("sample", "sample-") }, answer{}},
		"more than an int holds is no ordinal":     {func() (int, bool) { return names.GroupOrdinal("sample", "sample-99999999999999999999") }, answer{}},
		"a role replica":                           {func() (int, bool) { return names.RoleReplicaOrdinal("decode", "decode-9") }, answer{9, true}},
		"a replica of a role with the same prefix": {func() (int, bool) { return names.RoleReplicaOrdinal("p", "p-2-1") }, answer{}},
		"an entry Pod":                             {func() (int, bool) { return names.PodIndex("s-0", "p-0", "s-0-p-0-0") }, answer{0, true}},
		"a worker":                                 {func() (int, bool) { return names.PodIndex("s-0", "p-0", "s-0-p-0-11") }, answer{11, true}},
		"a Pod of another role replica":            {func() (int, bool) { return names.PodIndex("s-0", "p-0", "s-0-p-1-0") }, answer{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			n, ok := tc.read()
			if diff := cmp.Diff(tc.want, answer{n, ok}); diff != "" {
				t.Errorf("ordinal (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLongest(t *testing.T) {
	role := gangwaytesting.MakeRole
	long := strings.Repeat("m", 52)
	cases := map[string]struct {
		ms   *workloadv1alpha1.ModelServing
		want names.Length
	}{
		"the issue's sample": {
			gangwaytesting.Sample().Obj(),
			names.Length{Name: "sample-0-prefill-3-1", Role: "prefill"},
		},
		"ten groups end at 9, eleven at 10": {
			gangwaytesting.MakeModelServing("s").Replicas(11).Role(role("r").Obj()).Obj(),
			names.Length{Name: "s-10-r-0-0", Role: "r"},
		},
		"a surge adds ordinals": {
			gangwaytesting.MakeModelServing("s").Replicas(9).MaxSurge("2").Role(role("r").Obj()).Obj(),
			names.Length{Name: "s-10-r-0-0", Role: "r"},
		},
		"a surge in percent rounds up": {
			gangwaytesting.MakeModelServing("s").Replicas(10).MaxSurge("1%").Role(role("r").Obj()).Obj(),
			names.Length{Name: "s-10-r-0-0", Role: "r"},
		},
		"a malformed surge is somebody else's fault": {
			gangwaytesting.MakeModelServing("s").MaxSurge("many").Role(role("r").Obj()).Obj(),
			names.Length{Name: "s-0-r-0-0", Role: "r"},
		},
		"no groups and no role replicas count as one": {
			gangwaytesting.MakeModelServing("s").Replicas(0).Role(role("r").Replicas(0).Obj()).Obj(),
			names.Length{Name: "s-0-r-0-0", Role: "r"},
		},
		"a short role with many workers may be the longest": {
			gangwaytesting.MakeModelServing("s").
				Role(role("longer").Obj()).Role(role("short").Replicas(11).Workers(100).Obj()).Obj(),
			names.Length{Name: "s-0-short-10-100", Role: "short"},
		},
		"role replicas from 9 to 10 stay at one digit": {
			gangwaytesting.MakeModelServing("s").Role(role("r").Replicas(10).Obj()).Obj(),
			names.Length{Name: "s-0-r-9-0", Role: "r"},
		},
		"exactly 63 characters fit": {
			gangwaytesting.MakeModelServing(long).Role(role("role").Workers(1).Obj()).Obj(),
			names.Length{Name: long + "-0-role-0-1", Role: "role"},
		},
		"one too many": {
			gangwaytesting.MakeModelServing(long + "m").Role(role("role").Workers(1).Obj()).Obj(),
			names.Length{Name: long + "m-0-role-0-1", Role: "role", Excess: 1},
		},
		"without roles it is the group": {
			gangwaytesting.MakeModelServing("s").Obj(),
			names.Length{Name: "s-0"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := names.Longest(tc.ms)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("Longest (-want +got):\n%s", diff)
			}
			if fits := names.LongestModelServing(tc.ms) >= len(tc.ms.Name); fits != (got.Excess == 0) {
				t.Errorf("LongestModelServing = %d for a name of %d characters, excess %d",
					names.LongestModelServing(tc.ms), len(tc.ms.Name), got.Excess)
			}
		})
	}
}
