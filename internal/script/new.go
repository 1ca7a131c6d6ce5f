package script

// New is a script whose source is embedded elsewhere, beside what reads its
// replies. It is not in All.
func New(name, source string) *Script { return newScript(name, source) }
