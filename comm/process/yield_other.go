//go:build !linux

package process

func yieldCore() {}
