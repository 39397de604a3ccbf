//go:build !linux

package spin

func YieldCore() {}
