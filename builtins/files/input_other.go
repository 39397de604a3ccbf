//go:build !unix

package files

import (
	"errors"
	"os"
)

// mappable says that files are read here.
const mappable = false

// mapPart is not called.
func mapPart(*os.File, int64, int) ([]byte, func(), error) { return nil, nil, errors.ErrUnsupported }
