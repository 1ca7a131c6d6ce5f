package container

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// networkTries is how many subnets are tried when each was taken before the
// network was there.
const networkTries = 5

// createNetwork makes a private network and returns n addresses of it, none of
// which anybody has. Addresses can be chosen only where the subnet was; so the
// engine is asked for a subnet that is free here, by a network that goes again.
func (e *Engine) createNetwork(ctx context.Context, name, label string, n int) ([]netip.Addr, error) {
	var err error
	for range networkTries {
		var subnet netip.Prefix
		var gateway netip.Addr
		if subnet, gateway, err = e.freeSubnet(ctx, name, label); err != nil {
			return nil, err
		}
		if _, err = e.run(ctx, commandBound, "network", "create", "--label", label, "--subnet", subnet.String(), "--gateway", gateway.String(), name); err == nil {
			return addresses(subnet, gateway, n)
		}
		if !strings.Contains(err.Error(), "overlaps") {
			break
		}
	}
	return nil, fmt.Errorf("a network for the containers: %w", err)
}

func (e *Engine) freeSubnet(ctx context.Context, name, label string) (subnet netip.Prefix, gateway netip.Addr, err error) {
	if _, err = e.run(ctx, commandBound, "network", "create", "--label", label, name); err != nil {
		return subnet, gateway, fmt.Errorf("a network for the containers: %w", err)
	}
	said, err := e.run(ctx, commandBound, "network", "inspect", "--format", "{{range .IPAM.Config}}{{.Subnet}} {{.Gateway}}\n{{end}}", name)
	if err != nil {
		return subnet, gateway, err
	}
	if _, err = e.run(ctx, commandBound, "network", "rm", name); err != nil {
		return subnet, gateway, err
	}
	return parseSubnet(said)
}

// parseSubnet finds the first subnet of IPv4, and its gateway.
func parseSubnet(said string) (subnet netip.Prefix, gateway netip.Addr, err error) {
	for line := range strings.Lines(said) {
		fields := strings.Fields(line)
		if len(fields) != 2 {
			continue
		}
		subnet, err = netip.ParsePrefix(fields[0])
		if err != nil || !subnet.Addr().Is4() {
			continue
		}
		if gateway, err = netip.ParseAddr(fields[1]); err == nil {
			return subnet.Masked(), gateway, nil
		}
	}
	return subnet, gateway, fmt.Errorf("the engine gives no subnet with a gateway: %.80q", said)
}

// addresses are the first n of the subnet that are neither its own nor the
// gateway's.
func addresses(subnet netip.Prefix, gateway netip.Addr, n int) ([]netip.Addr, error) {
	var list []netip.Addr
	for a := subnet.Addr().Next(); len(list) < n; a = a.Next() {
		if !subnet.Contains(a.Next()) { // the last one is for all
			return nil, fmt.Errorf("the subnet %v has no room for %d containers", subnet, n)
		}
		if a != gateway {
			list = append(list, a)
		}
	}
	return list, nil
}

// freePorts are n ports of the loopback interface that nobody listens on now.
func freePorts(n int) (ports []string, err error) {
	for range n {
		l, listenErr := net.Listen("tcp", "127.0.0.1:0")
		if listenErr != nil {
			return nil, listenErr
		}
		defer func() { err = errors.Join(err, l.Close()) }() // all are held until all are chosen
		ports = append(ports, strconv.Itoa(l.Addr().(*net.TCPAddr).Port))
	}
	return ports, nil
}
