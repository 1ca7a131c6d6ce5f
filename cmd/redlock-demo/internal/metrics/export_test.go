package metrics

// Addr is where the server listens: host:port.
func (s *Server) Addr() string { return s.listener.Addr().String() }
