package pipeline

// A Script is one that calls run by its SHA.
type Script struct{ SHA, Source string }

// scriptNames is the arguments of SCRIPT that ask which of the scripts a master has; nil:
// there are none.
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

// missingOf is those of the scripts that a master lacks by its reply to scriptNames: all
// but those that it clearly says it has.
func missingOf(scripts []Script, reply any) (missing []Script) {
	has, _ := reply.([]any)
	for i, s := range scripts {
		if len(has) != len(scripts) || has[i] != any(int64(1)) {
			missing = append(missing, s)
		}
	}
	return missing
}
