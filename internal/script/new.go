package script

// New returns a script whose source is embedded by another package, beside the code that
// reads its replies. It is not in All.
func New(name, source string) *Script { return newScript(name, source) }
