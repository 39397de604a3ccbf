//go:build !linux

package vec

// hasAMX reports false: other systems are not asked for tiles.
func hasAMX() bool { return false }
