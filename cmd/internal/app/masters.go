package app

import (
	"strings"

	"github.com/spf13/cobra"
)

// NamedMasters returns the masters that the flag or the environment names.
func (f *SharedFlags) NamedMasters(cmd *cobra.Command, a *App) ([]string, error) {
	switch n := len(f.Masters); {
	case n > 1: // the last list alone would be a smaller fleet
		return nil, Usagef("--masters is given %d times: want one list, url,url,…", n)
	case n == 1:
		return parseMasters("--masters", f.Masters[0])
	}
	if list := a.Env(MastersVariable); list != "" {
		return parseMasters(MastersVariable, list)
	}
	return nil, Usagef("no masters are named: want --masters url,url,…, %s or --config file", MastersVariable)
}

// parseMasters splits a list of URLs.
func parseMasters(origin, list string) ([]string, error) {
	list, closed := unquoted(list) // docker run --env-file does not remove quotes
	if !closed || strings.Trim(list, ", \t\n") == "" {
		return nil, Usagef("%s names no masters: want url,url,…", origin)
	}
	urls := strings.Split(list, ",")
	for i, url := range urls {
		if urls[i] = strings.TrimSpace(url); urls[i] == "" {
			return nil, Usagef("%s: entry %d of %d is empty: want url,url,…", origin, i+1, len(urls))
		}
	}
	return urls, nil
}
