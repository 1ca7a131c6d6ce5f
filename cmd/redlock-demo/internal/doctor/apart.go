package doctor

import "fmt"

// JudgeApart says what several fleets have in common that must be apart: the facts of each,
// by its name.
func JudgeApart(names []string, fleets [][]Facts) []Finding {
	var l findings
	type place struct {
		run string
		db  int
	}
	type where struct{ fleet, master string }
	servers, ids := map[place]where{}, map[string]string{}
	for i, facts := range fleets {
		seen := map[string]bool{}
		for k := range facts {
			f := &facts[k]
			if run := f.Info["run_id"]; run != "" {
				at := place{run, f.DB}
				if other, ok := servers[at]; ok && other.fleet != names[i] {
					l.add(Finding{
						Severity: Serious, Code: "shared", What: fmt.Sprintf("of fleet %q is the same server and database as %s of fleet %q", names[i], other.master, other.fleet),
						Why: "Its load is that of both, when it fails both have a master less, and clients refuse such fleets.",
						Do:  "Name every server and database in one fleet.",
					}, f.Master)
				} else if !ok {
					servers[at] = where{names[i], f.Master}
				}
			}
			if id := f.fleetID(); id != "" && !seen[id] {
				seen[id] = true
				if other, ok := ids[id]; ok {
					l.add(Finding{
						Severity: Serious, Code: "shared", What: fmt.Sprintf("fleets %q and %q have the same id in their markers: %s", other, names[i], printableID(id)),
						Why: "It is one fleet under two names: a key has two places in it, or masters were copied with their data.",
						Do:  "Name every master in the fleet that it was declared in. Where data was copied, empty the new masters and declare them (redlock-demo init).",
					})
				} else {
					ids[id] = names[i]
				}
			}
		}
	}
	return l.list
}

// fleetID is the id in the marker; "": there is none.
func (f *Facts) fleetID() string {
	if f.Marker == nil || f.Marker.Type != "hash" {
		return ""
	}
	return f.Marker.Fields.Fleet
}

// printableID is an id as far as it is shown: a master may say what it likes.
func printableID(id string) string {
	const most = 64
	if len(id) > most {
		id = id[:most]
	}
	return fmt.Sprintf("%q", id)
}
