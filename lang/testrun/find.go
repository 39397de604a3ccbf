package testrun

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const suffix = "_test.star"

// find returns the test files that the paths name: files as they are, and the
// *_test.star files in folders, sorted, each once.
func find(paths []string) ([]string, error) {
	if len(paths) == 0 {
		paths = []string{"."}
	}
	var files []string
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, reason(err))
		}
		if !info.IsDir() {
			files = append(files, filepath.Clean(path))
			continue
		}
		found, err := search(path)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("%s: no *%s file in this folder", path, suffix)
		}
		files = append(files, found...)
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}

// search returns the test files below a folder. It looks into no folder whose
// name begins with a dot.
func search(dir string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", path, reason(err))
		case d.IsDir() && path != dir && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case !d.IsDir() && strings.HasSuffix(d.Name(), suffix):
			files = append(files, path)
		}
		return nil
	})
	return files, err
}

// reason takes the path from a file error.
func reason(err error) error {
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		return e.Err
	}
	return err
}
