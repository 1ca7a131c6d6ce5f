//go:build !unix

package chaos

import "context"

func (s *show) signals(context.Context) {}
