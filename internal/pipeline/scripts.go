package pipeline

// A Script is a script that calls run by its SHA.
type Script struct{ SHA, Source string }

// scriptNames returns the arguments of the SCRIPT command that asks which of the scripts a master
// has; nil if there are no scripts.
func scriptNames(scripts []Script) []any {
	if len(scripts) == 0 {
		return nil
	}
	args := make([]any, 0, 1+len(scripts))
	args = append(args, "EXISTS")
	for _, s := range scripts {
		args = append(args, s.SHA)
	}
	return args
}

// missingOf returns the scripts that a master lacks, from its reply to scriptNames: all except
// those that it clearly reports to have.
func missingOf(scripts []Script, reply any) (missing []Script) {
	has, _ := reply.([]any)
	for i, s := range scripts {
		if len(has) != len(scripts) || has[i] != any(int64(1)) {
			missing = append(missing, s)
		}
	}
	return missing
}
