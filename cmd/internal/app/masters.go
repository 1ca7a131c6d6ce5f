package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/redquorum/redquorum/cmd/internal/term"
	"github.com/redquorum/redquorum/pool"
)

// A Fleet is masters that are used together.
type Fleet struct {
	Name string // by which keys are spread over several; "": none was given, where it is the only one
	Urls []string
}

// NamedFleets are the fleets that the flag or the environment name, in the order of their names: at least one.
func (f *SharedFlags) NamedFleets(cmd *cobra.Command, a *App) ([]Fleet, error) {
	if cmd.Flags().Changed("masters") {
		return ParseFleets("--masters", f.Masters)
	}
	if list := a.Env(MastersVariable); list != "" {
		return ParseFleets(MastersVariable, []string{list})
	}
	return nil, Usagef("no masters are named: want --masters url,url,…, %s or --config file", MastersVariable)
}

// NamedMasters are the masters of a command that takes one fleet.
func (f *SharedFlags) NamedMasters(cmd *cobra.Command, a *App) ([]string, error) {
	list, err := f.NamedFleets(cmd, a)
	if err != nil {
		return nil, err
	}
	if len(list) > 1 {
		return nil, Usagef("--masters names %d fleets (%s): this command takes one; status and exec take several", len(list), fleetNames(list))
	}
	return list[0].Urls, nil
}

func fleetNames(list []Fleet) string {
	names := make([]string, len(list))
	for i, f := range list {
		names[i] = f.Name
	}
	return strings.Join(names, ", ")
}

// ParseFleets reads lists of masters, each of which may have a name before it. Where there
// are several each must have one: keys are spread by the names, and there is none that all
// clients would choose. A place in the list is another one in another order, and an
// address may be written in several ways.
func ParseFleets(origin string, lists []string) ([]Fleet, error) {
	list := make([]Fleet, len(lists))
	for i, text := range lists {
		name, urls, named := cutName(text)
		if err := checkName(name, named); err != nil {
			return nil, Usagef("%s: fleet %d of %d (%s): %w", origin, i+1, len(lists), shownList(text), err)
		}
		if !named && len(lists) > 1 {
			return nil, Usagef("%s: fleet %d of %d (%s) has no name: want NAME=url,url,… for each of several, by the names that all their clients have: keys are spread by the names", origin, i+1, len(lists), shownList(text))
		}
		if j := slices.IndexFunc(list[:i], func(f Fleet) bool { return f.Name == name }); j >= 0 {
			return nil, Usagef("%s: fleets %d and %d of %d are both called %q: keys are spread by the names, so each fleet has one of its own", origin, j+1, i+1, len(lists), name)
		}
		from := origin
		if named {
			from = fmt.Sprintf("%s: fleet %q", origin, name)
		}
		var err error
		if list[i], err = parseList(from, name, urls); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(list, func(a, b Fleet) int { return strings.Compare(a.Name, b.Name) })
	if len(list) > 1 {
		if err := checkApart(origin, list); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// cutName takes the name off a list such as eu=redis://a,redis://b. A URL has its first
// "=" behind a colon.
func cutName(text string) (name, urls string, named bool) {
	before, after, ok := strings.Cut(text, "=")
	if !ok || strings.ContainsAny(before, ":/@,") {
		return "", text, false
	}
	return strings.TrimSpace(before), after, true
}

func checkName(name string, named bool) error {
	switch {
	case !named:
		return nil
	case name == "":
		return errors.New(`the name before "=" is missing: want NAME=url,url,…`)
	case strings.ContainsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsGraphic(r) }):
		return fmt.Errorf("name %q: want letters, digits and signs without spaces, but for : / @ , =", name)
	}
	return nil
}

// shownList is what was typed, for an error, without its passwords.
func shownList(text string) string { return term.Printable(term.Redacted(strings.TrimSpace(text))) }

// parseList takes a list apart.
func parseList(origin, name, list string) (Fleet, error) {
	if strings.Trim(list, ", \t\n") == "" {
		return Fleet{}, Usagef("%s names no masters: want url,url,…", origin)
	}
	urls := strings.Split(list, ",")
	for i, url := range urls {
		if urls[i] = strings.TrimSpace(url); urls[i] == "" {
			return Fleet{}, Usagef("%s: entry %d of %d is empty: want url,url,…", origin, i+1, len(urls))
		}
	}
	return Fleet{name, urls}, nil
}

// checkApart refuses a server and database that are in two fleets, as far as the addresses
// show that.
func checkApart(origin string, list []Fleet) error {
	seen := map[string]string{}
	for _, f := range list {
		places, err := f.Places()
		if err != nil {
			return Usagef("%s: fleet %q: %w", origin, f.Name, err)
		}
		for _, place := range places {
			if other, ok := seen[place]; ok {
				return Usagef("%s: %s is in the fleets %q and %q: want each server and database in one of them, or they are not independent", origin, place, other, f.Name)
			}
			seen[place] = f.Name
		}
	}
	return nil
}

var errNotDialled = errors.New("not dialled")

// Places are the servers and databases of the fleet, as its URLs name them. Nobody is
// connected to.
func (f *Fleet) Places() ([]string, error) {
	p, err := pool.New(f.Urls, pool.WithDialer(func(context.Context, string, string) (net.Conn, error) { return nil, errNotDialled }))
	if err != nil {
		return nil, InFlags(err)
	}
	defer func() { _ = p.Close() }() // its only error is none
	var places []string
	for _, m := range p.Masters() {
		places = append(places, m.Name()+", database "+strconv.Itoa(m.DB()))
	}
	return places, nil
}
