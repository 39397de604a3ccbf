//go:build !unix

package tensor

import "errors"

// phantom fails: there is no address space to be had without memory.
func phantom() ([]byte, error) { return nil, errors.New("tpsh plan needs a Unix") }
