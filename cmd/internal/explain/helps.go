package explain

import (
	"fmt"
	"strings"
)

// Helps are what leads to the votes of masters, those that need the same together, in the order in which they came.
type Helps struct {
	texts []string // each with "%s" for the masters
	whom  map[string][]string
}

// Add adds what a master needs, as Help has it; "": nothing.
func (h *Helps) Add(help, master string) {
	if help == "" {
		return
	}
	if h.whom == nil {
		h.whom = map[string][]string{}
	}
	if h.whom[help] == nil {
		h.texts = append(h.texts, help)
	}
	h.whom[help] = append(h.whom[help], master)
}

// Sentences name the masters; nil: there is nothing to be done.
func (h *Helps) Sentences() (list []string) {
	for _, text := range h.texts {
		list = append(list, fmt.Sprintf(text, strings.Join(h.whom[text], ", ")))
	}
	return list
}
