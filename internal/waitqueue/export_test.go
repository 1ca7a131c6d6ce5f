package waitqueue

// Hears reports whether the hub is subscribed to the master now.
func (h *Hub) Hears(master int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.links[master]
	return l != nil && l.up
}
