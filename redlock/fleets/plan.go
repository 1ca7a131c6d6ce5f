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

// addPart adds a part, or its keys where the fleet is there already.
func addPart(parts []part, p part) []part {
	for i := range parts {
		if parts[i].fleet.same(p.fleet) {
			parts[i].keys = sorted(append(slices.Clone(parts[i].keys), p.keys...))
			return parts
		}
	}
	return append(parts, p)
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
