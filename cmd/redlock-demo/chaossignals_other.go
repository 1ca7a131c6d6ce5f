//go:build !unix

package main

import "context"

func (s *show) signals(context.Context) {}
