package waitqueue

// Hears reports whether the master's wake-ups are heard now.
func (h *Hub) Hears(master int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.links[master]
	return l != nil && l.up
}
