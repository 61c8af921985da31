package bed

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"strings"
)

// routeProtocol marks our route, so that no other one is ever taken for it (ip-route(8) leaves
// numbers like this one to administrators).
const routeProtocol = "197"

// lockName is an abstract socket: the kernel lets go of it when its process ends, however it ends.
const lockName = "@gangway-pod-addresses"

// network makes the addresses of a CIDR this machine's own.
type network struct {
	cidr netip.Prefix
	lock net.Listener
}

// hostRoute is what is looked at of a line of `ip -j route`.
type hostRoute struct {
	Type     string `json:"type"`
	Dst      string `json:"dst"`
	Dev      string `json:"dev"`
	Protocol string `json:"protocol"`
}

// openNetwork adds the route. One that a killed run left is used again.
func openNetwork(ctx context.Context, cidr string) (*network, error) {
	prefix, err := netip.ParsePrefix(cidr)
	if err != nil {
		return nil, fmt.Errorf("read the CIDR of the Pods: %w", err)
	}
	lock, err := net.Listen("unix", lockName)
	if err != nil {
		return nil, fmt.Errorf("another run on this machine makes the Pods' addresses answer; stop it (make demo-stop) or wait for its end: %w", err)
	}
	n := &network{cidr: prefix.Masked(), lock: lock}
	if err := n.add(ctx); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return n, nil
}

func (n *network) add(ctx context.Context) error {
	out, err := ip(ctx, "-j", "-4", "route", "show", "table", "all")
	if err != nil {
		return err
	}
	var routes []hostRoute
	if err := json.Unmarshal(out, &routes); err != nil {
		return fmt.Errorf("read the routes of this machine: %w", err)
	}
	there, err := n.survey(routes)
	if err != nil || there {
		return err
	}
	_, err = ip(ctx, append([]string{"route", "add"}, n.route()...)...)
	return err
}

// survey says whether our route is there already, and refuses to hide somebody else's addresses.
func (n *network) survey(routes []hostRoute) (there bool, err error) {
	for _, r := range routes {
		dst := r.Dst
		if !strings.Contains(dst, "/") {
			dst += "/32"
		}
		prefix, err := netip.ParsePrefix(dst)
		if err != nil || prefix.Bits() == 0 || !prefix.Overlaps(n.cidr) {
			continue // The default route, or far away.
		}
		if r.Type == "local" && r.Dev == "lo" && r.Protocol == routeProtocol && prefix == n.cidr {
			there = true
			continue
		}
		return false, fmt.Errorf("this machine uses %s (device %s), which overlaps the Pods' addresses %s; run it on a machine that does not", r.Dst, r.Dev, n.cidr)
	}
	return there, nil
}

func (n *network) route() []string {
	return []string{"local", n.cidr.String(), "dev", "lo", "proto", routeProtocol}
}

// close takes the route away.
func (n *network) close() error {
	_, err := ip(context.Background(), append([]string{"route", "del"}, n.route()...)...)
	return errors.Join(err, n.lock.Close())
}

func ip(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "ip", args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(stderr.Bytes()))
	}
	return out, nil
}
