//go:build !amd64 && !arm64

package vec

// find returns Sets: nothing but Go is written for this machine.
func find() []Set { return []Set{Portable} }
