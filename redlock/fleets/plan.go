package fleets

import "slices"

// A part is what is taken, or asked, in one fleet.
type part struct {
	fleet *one
	path  string   // names of the fleet, for errors
	keys  []string // sorted, each once
}

// A planner is a Locker of this package: it knows in which fleets a key is.
type planner interface {
	Locker
	// plan says in which fleets the keys have to be taken, each fleet once, in the order
	// of taking. path is put before the names.
	plan(keys []string, path string) []part
	// fleets are all of them, each once.
	fleets(path string) []part
}

// addParts adds more parts, or only their keys where the fleet is there already.
func addParts(parts, more []part) []part {
	for _, p := range more {
		i := slices.IndexFunc(parts, func(there part) bool { return there.fleet.same(p.fleet) })
		if i < 0 {
			parts = append(parts, p)
			continue
		}
		parts[i].keys = sorted(slices.Concat(parts[i].keys, p.keys))
	}
	return parts
}

// sorted sorts keys and keeps each once.
func sorted(keys []string) []string {
	slices.Sort(keys)
	return slices.Compact(keys)
}

// joinPath appends a name.
func joinPath(path, name string) string {
	if path == "" {
		return name
	}
	return path + "/" + name
}
