package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// The parts of CycloneDX 1.5 that are written, by their names in its schema.
type (
	bom struct {
		BOMFormat    string       `json:"bomFormat"`
		SpecVersion  string       `json:"specVersion"`
		SerialNumber string       `json:"serialNumber"`
		Version      int          `json:"version"`
		Metadata     metadata     `json:"metadata"`
		Components   []component  `json:"components"`
		Dependencies []dependency `json:"dependencies"`
	}
	metadata struct {
		Component component `json:"component"`
	}
	component struct {
		Type       string     `json:"type"`
		Ref        string     `json:"bom-ref"`
		Name       string     `json:"name"`
		Version    string     `json:"version"`
		PURL       string     `json:"purl,omitempty"`
		Hashes     []hash     `json:"hashes,omitempty"`
		Licenses   []choice   `json:"licenses"`
		Properties []property `json:"properties,omitempty"`
	}
	hash struct {
		Alg     string `json:"alg"`
		Content string `json:"content"`
	}
	choice struct {
		License license `json:"license"`
	}
	license struct {
		ID string `json:"id"`
	}
	property struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	dependency struct {
		Ref       string   `json:"ref"`
		DependsOn []string `json:"dependsOn,omitempty"`
	}
)

// newBOM returns the list of what a binary of the project around the working folder is
// made of.
func newBOM(binary string) (*bom, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	root, err := projectRoot()
	if err != nil {
		return nil, err
	}
	own, err := licencesOf(root)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	version := info.Main.Version
	if version == "" || version == "(devel)" {
		version = "0.0.0-" + hex.EncodeToString(sum[:6])
	}
	main := component{Type: "application", Ref: "tpsh", Name: filepath.Base(info.Path), Version: version, Licenses: choices(own),
		Hashes: []hash{{"SHA-256", hex.EncodeToString(sum[:])}}}
	for _, s := range info.Settings {
		if slices.Contains([]string{"GOOS", "GOARCH", "CGO_ENABLED", "-tags"}, s.Key) {
			main.Properties = append(main.Properties, property{"go:build:" + s.Key, s.Value})
		}
	}
	goVersion := strings.TrimPrefix(info.GoVersion, "go")
	b := &bom{"CycloneDX", "1.5", serial(sum), 1, metadata{main}, []component{{Type: "library", Ref: "std", Name: "std", Version: goVersion,
		PURL: "pkg:golang/std@" + goVersion, Licenses: choices([]string{"BSD-3-Clause"})}}, []dependency{{Ref: "tpsh", DependsOn: []string{"std"}}, {Ref: "std"}}}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		c, err := componentOf(m.Path, m.Version, m.Sum)
		if err != nil {
			return nil, err
		}
		b.Components = append(b.Components, c)
		b.Dependencies[0].DependsOn = append(b.Dependencies[0].DependsOn, c.Ref)
		b.Dependencies = append(b.Dependencies, dependency{Ref: c.Ref})
	}
	return b, nil
}

// projectRoot returns the folder of the project: that above .ci.
func projectRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	return filepath.Dir(filepath.Dir(dir)), nil
}

// componentOf describes a module. Its sum is the hash of the hashes of its files
// (golang.org/x/mod/sumdb/dirhash), which is none of a file, and so a property.
func componentOf(path, version, sum string) (component, error) {
	c := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", path+"@"+version)
	c.Dir, c.Stderr = "../..", os.Stderr
	dir, err := c.Output()
	if err != nil {
		return component{}, fmt.Errorf("go list -m %s: %w", path, err)
	}
	names, err := licencesOf(strings.TrimSpace(string(dir)))
	if err != nil {
		return component{}, err
	}
	purl := "pkg:golang/" + path + "@" + version
	return component{Type: "library", Ref: purl, Name: path, Version: version, PURL: purl, Licenses: choices(names), Properties: []property{{"go:sum", sum}}}, nil
}

func choices(names []string) []choice {
	var list []choice
	for _, n := range names {
		list = append(list, choice{license{n}})
	}
	return list
}

// serial returns a number in the form of a UUID of version 8 (RFC 9562), whose bits
// are those of a hash.
func serial(sum [sha256.Size]byte) string {
	b := sum[:16]
	b = slices.Clone(b)
	b[6], b[8] = b[6]&0x0f|0x80, b[8]&0x3f|0x80
	h := hex.EncodeToString(b)
	return fmt.Sprintf("urn:uuid:%s-%s-%s-%s-%s", h[:8], h[8:12], h[12:16], h[16:20], h[20:])
}
