// Package sourcetest finds the programs of the project, for tests that hold for every
// program: that it is parsed as Starlark's parser does, that formatting keeps its
// meaning.
//
// They are the examples, those of the tests, and the acceptance tests where they lie
// beside the project. A test names the root of the project as it sees it:
//
//	for path, text := range sourcetest.Programs(t, "../..") {
//		t.Run(path, func(t *testing.T) { check(t, text) })
//	}
//
// A project without programs fails the test: it would hold for nothing.
package sourcetest

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// folders are those that hold programs, below the root of the project.
var folders = []string{"builtins/testdata", "examples", "lang/testdata", "cmd/tpsh/testdata", "../shared/acceptance"}

// Programs returns the text of every program of the project at root, by path.
func Programs(t testing.TB, root string) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".star") {
				return nil // a folder that is not there has no programs
			}
			data, err := os.ReadFile(path)
			texts[path] = string(data)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(texts) < 20 {
		t.Fatalf("found %d programs, want at least 20", len(texts))
	}
	return texts
}
