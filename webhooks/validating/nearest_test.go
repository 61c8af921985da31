package validating

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	roles := []string{"prefill", "decode", "router"}
	for _, tc := range []struct {
		name, written, want string
		ok                  bool
	}{
		{"a letter is missing", "prefil", "prefill", true},
		{"letters are swapped", "decdoe", "decode", true},
		{"of another case", "Router", "router", true},
		{"nothing like it", "x", "decode", false},
		{"empty", "", "decode", false},
		{"very long", strings.Repeat("prefill", 1000), "prefill", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, ok := nearest(tc.written, roles)
			if ok != tc.ok || (ok && got != tc.want) {
				t.Errorf("nearest(%.20q) = %q, %v; want %q, %v", tc.written, got, ok, tc.want, tc.ok)
			}
		})
	}
	if _, ok := nearest("a", nil); ok {
		t.Error("something is near although there is nothing")
	}
}
