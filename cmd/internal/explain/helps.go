package explain

import (
	"fmt"
	"strings"
)

// Helps collects advice for masters that do not vote, in the order of Add. Masters that need the
// same share one sentence.
type Helps struct {
	texts   []string // each with "%s" for the masters
	masters map[string][]string
}

// Add adds the advice for a master, as Help returns it; "" adds nothing.
func (h *Helps) Add(help, master string) {
	if help == "" {
		return
	}
	if h.masters == nil {
		h.masters = map[string][]string{}
	}
	if h.masters[help] == nil {
		h.texts = append(h.texts, help)
	}
	h.masters[help] = append(h.masters[help], master)
}

// Sentences returns the advice with the names of the masters; nil: there is none.
func (h *Helps) Sentences() (list []string) {
	for _, text := range h.texts {
		list = append(list, fmt.Sprintf(text, strings.Join(h.masters[text], ", ")))
	}
	return list
}
