package bed

import (
	"net/netip"
	"testing"
)

func TestSurvey(t *testing.T) {
	ours := hostRoute{Type: "local", Dst: "10.244.0.0/16", Dev: "lo", Protocol: routeProtocol}
	tests := map[string]struct {
		routes []hostRoute
		there  bool
		err    string
	}{
		"a machine with other networks": {
			routes: []hostRoute{
				{Dst: "default", Dev: "eth0"},
				{Dst: "0.0.0.0/0", Dev: "eth0"},
				{Dst: "192.0.2.0/24", Dev: "eth0", Protocol: "kernel"},
				{Type: "local", Dst: "127.0.0.1", Dev: "lo", Protocol: "kernel"},
			},
		},
		"our own route, left by a killed run": {routes: []hostRoute{ours}, there: true},
		"the same route by somebody else": {
			routes: []hostRoute{{Type: "local", Dst: "10.244.0.0/16", Dev: "lo", Protocol: "boot"}},
			err:    "this machine uses 10.244.0.0/16 (device lo), which overlaps the Pods' addresses 10.244.0.0/16; run it on a machine that does not",
		},
		"a real network of Pods": {
			routes: []hostRoute{{Dst: "10.244.1.0/24", Dev: "cni0", Protocol: "kernel"}},
			err:    "this machine uses 10.244.1.0/24 (device cni0), which overlaps the Pods' addresses 10.244.0.0/16; run it on a machine that does not",
		},
		"an address of the machine inside": {
			routes: []hostRoute{ours, {Type: "local", Dst: "10.244.7.7", Dev: "eth1", Protocol: "kernel"}},
			err:    "this machine uses 10.244.7.7 (device eth1), which overlaps the Pods' addresses 10.244.0.0/16; run it on a machine that does not",
		},
		"a wider network": {
			routes: []hostRoute{{Dst: "10.0.0.0/8", Dev: "vpn0", Protocol: "static"}},
			err:    "this machine uses 10.0.0.0/8 (device vpn0), which overlaps the Pods' addresses 10.244.0.0/16; run it on a machine that does not",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			n := &network{cidr: netip.MustParsePrefix("10.244.0.0/16")}
			there, err := n.survey(tc.routes)
			got := ""
			if err != nil {
				got = err.Error()
			}
			if there != tc.there || got != tc.err {
				t.Errorf("there %v, error %q; want %v, %q", there, got, tc.there, tc.err)
			}
		})
	}
}
