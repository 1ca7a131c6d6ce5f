//go:build !mutants

package ballot

import "github.com/redquorum/redquorum/internal/pipeline"

func (b *Ballot) countInNext(*pipeline.Call) {}

// NoteOpen does something in the build with mistakes alone.
func (b *Ballot) NoteOpen() {}
