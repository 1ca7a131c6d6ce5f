package history

import (
	"errors"
	"fmt"
	"slices"
	"sync"
)

// A Set is the resource of Jepsen's workload for locks: holders read it, add an element and
// write all of it back. Two holders at once lose an update. It compares fencing tokens if it
// gets any. The zero Set is empty; it is safe for concurrent use, and each call is atomic.
type Set struct {
	mu       sync.Mutex // guards what follows; a leaf
	elements []string
	fence    uint64
	written  []string // elements whose writes were acknowledged
}

// ErrStale refuses a holder whose fencing token is lower than one that was seen.
var ErrStale = errors.New("a later holder has been here")

// Read returns all elements. From then on the set refuses lower fencing tokens: the reader
// would overwrite their changes. A fence of 0 is not compared.
func (s *Set) Read(fence uint64) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.compare(fence); err != nil {
		return nil, err
	}
	return slices.Clone(s.elements), nil
}

// Write replaces all elements; added is the new one among them.
func (s *Set) Write(fence uint64, elements []string, added string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.compare(fence); err != nil {
		return err
	}
	s.elements = slices.Clone(elements)
	s.written = append(s.written, added)
	return nil
}

// compare refuses old tokens. The caller must hold mu.
func (s *Set) compare(fence uint64) error {
	if fence == 0 {
		return nil
	}
	if fence < s.fence {
		return ErrStale
	}
	s.fence = fence
	return nil
}

// Lost finds acknowledged updates that are missing.
func (s *Set) Lost() (found []Violation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.written {
		if !slices.Contains(s.elements, e) {
			text := fmt.Sprintf("%s was written and is gone; %d of %d are there", e, len(s.elements), len(s.written))
			found = append(found, Violation{Kind: Update, Text: text})
		}
	}
	return found
}
