//go:build !linux

package allowance

// Memory returns 0: this system is not asked.
func Memory() int { return 0 }

// Available returns 0: this system is not asked.
func Available() int { return 0 }
