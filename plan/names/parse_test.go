package names

import "testing"

func TestParsePod(t *testing.T) {
	type id struct {
		group   int
		role    string
		replica int
		index   int
	}
	for name, tc := range map[string]struct {
		pod  string
		want *id
	}{
		"an entry":                               {"ms-0-prefill-1-0", &id{0, "prefill", 1, 0}},
		"ordinals of several digits":             {"ms-12-decode-10-34", &id{12, "decode", 10, 34}},
		"a role with dashes and digits":          {"ms-3-a-0-1-2", &id{3, "a-0", 1, 2}},
		"a role that ends in a digit":            {"ms-3-a0-1-2", &id{3, "a0", 1, 2}},
		"a longer ModelServing of that prefix":   {"ms-0-a-0-b", nil},
		"no role":                                {"ms-0-1-2", nil},
		"a leading zero in the group":            {"ms-00-a-0-0", nil},
		"a leading zero in the index":            {"ms-0-a-0-00", nil},
		"no index":                               {"ms-0-a-0", nil},
		"the name of a group":                    {"ms-0", nil},
		"another ModelServing":                   {"other-0-a-0-0", nil},
		"a sign":                                 {"ms-0-a-+1-0", nil},
		"a role that begins with a dash":         {"ms-0--a-0-0", nil},
		"the ModelServing's own name":            {"ms", nil},
		"the ModelServing's own name and a dash": {"ms-", nil},
	} {
		t.Run(name, func(t *testing.T) {
			g, role, r, n, ok := ParsePod("ms", tc.pod)
			if ok != (tc.want != nil) {
				t.Fatalf("ParsePod(%q) ok = %v", tc.pod, ok)
			}
			if !ok {
				return
			}
			if got := (id{g, role, r, n}); got != *tc.want {
				t.Errorf("ParsePod(%q) = %+v, want %+v", tc.pod, got, *tc.want)
			}
			if back := Pod(Group("ms", g), RoleReplica(role, r), n); back != tc.pod {
				t.Errorf("Pod makes %q of what ParsePod read from %q", back, tc.pod)
			}
		})
	}
}
