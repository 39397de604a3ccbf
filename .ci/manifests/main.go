// Manifests reads Kubernetes manifests into the types of its API, and refuses fields
// that those do not have. Usage: manifests FILE...
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	documents "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// kinds are those that may be in a manifest here.
var kinds = map[string]func() any{
	"v1/Service":               func() any { return new(core.Service) },
	"v1/PersistentVolumeClaim": func() any { return new(core.PersistentVolumeClaim) },
	"batch/v1/Job":             func() any { return new(batch.Job) },
}

func main() {
	for _, path := range os.Args[1:] {
		n, err := check(path)
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", path, err)
			os.Exit(1)
		}
		fmt.Printf("%s: %d documents\n", path, n)
	}
}

// check reads the documents of a file, and returns how many there are.
func check(path string) (n int, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	for r := documents.NewYAMLReader(bufio.NewReader(f)); ; n++ {
		doc, err := r.Read()
		if errors.Is(err, io.EOF) {
			if n == 0 {
				return 0, errors.New("no document")
			}
			return n, nil
		}
		if err != nil {
			return n, err
		}
		var kind meta.TypeMeta
		if err := yaml.Unmarshal(doc, &kind); err != nil {
			return n, err
		}
		name := kind.APIVersion + "/" + kind.Kind
		make := kinds[name]
		if make == nil {
			return n, fmt.Errorf("document %d: got %s, which is not checked here", n+1, name)
		}
		if err := yaml.UnmarshalStrict(doc, make()); err != nil {
			return n, fmt.Errorf("document %d, %s: %w", n+1, name, err)
		}
	}
}
