package cluster

import (
	"errors"
	"fmt"
	"net"
	"strconv"
)

const loopback = "127.0.0.1"

// freePorts gives n different ports that nothing listens on. All are held until
// the last is found, so that none is given twice.
func freePorts(n int) (ports []int, err error) {
	var held []net.Listener
	defer func() {
		for _, l := range held {
			err = errors.Join(err, l.Close())
		}
	}()
	for range n {
		l, err := net.Listen("tcp", net.JoinHostPort(loopback, "0"))
		if err != nil {
			return nil, fmt.Errorf("find a free port on %s: %w", loopback, err)
		}
		held = append(held, l)
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

// checkFree reports a port that something listens on already.
func checkFree(flag string, port int) error {
	if port < 1 || port > 65535 {
		return fmt.Errorf("%s: %d is no port; give one from 1 to 65535, or leave it out for a free one", flag, port)
	}
	l, err := net.Listen("tcp", address(port))
	if err != nil {
		return fmt.Errorf("%s: port %d on %s is taken (%w); give another one, or leave it out for a free one", flag, port, loopback, err)
	}
	return l.Close()
}

func address(port int) string { return net.JoinHostPort(loopback, strconv.Itoa(port)) }
