package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// linked are the licences, by their names in SPDX, of what may be linked into a binary
// that is given away; tested those of what tests use besides.
var (
	linked = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT"}
	tested = []string{"MPL-2.0"}
)

// phrases tell licences: each has all of its own, and none that is in without.
var phrases = []struct {
	name         string
	has, without []string
}{
	{"Apache-2.0", []string{"Apache License", "Version 2.0"}, nil},
	{"MIT", []string{"Permission is hereby granted, free of charge, to any person obtaining a copy"}, nil},
	{"ISC", []string{"Permission to use, copy, modify, and/or distribute this software for any purpose"}, nil},
	{"BSD-3-Clause", []string{"Redistribution and use in source and binary forms", "endorse or promote products derived from"}, nil},
	{"BSD-2-Clause", []string{"Redistribution and use in source and binary forms"}, []string{"endorse or promote products derived from"}},
	{"MPL-2.0", []string{"Mozilla Public License Version 2.0"}, nil},
	{"GPL", []string{"GNU GENERAL PUBLIC LICENSE"}, nil},
	{"AGPL", []string{"GNU AFFERO GENERAL PUBLIC LICENSE"}, nil},
	{"LGPL", []string{"GNU LESSER GENERAL PUBLIC LICENSE"}, nil},
}

// recognize returns the licences that a text holds.
func recognize(text string) []string {
	text = strings.Join(strings.Fields(text), " ")
	in := func(s string) bool { return strings.Contains(text, s) }
	notIn := func(s string) bool { return !in(s) }
	var names []string
	for _, p := range phrases {
		if !slices.ContainsFunc(p.has, notIn) && !slices.ContainsFunc(p.without, in) {
			names = append(names, p.name)
		}
	}
	return names
}

// licencesOf returns the licences of the module in a folder. One without a file that
// is known for a licence is an error, as is a text that is not recognized.
func licencesOf(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		name := strings.ToUpper(e.Name())
		if e.IsDir() || !strings.HasPrefix(name, "LICENSE") && !strings.HasPrefix(name, "LICENCE") && !strings.HasPrefix(name, "COPYING") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		found := recognize(string(text))
		if len(found) == 0 {
			return nil, fmt.Errorf("%s: got a text of no licence that is known here", filepath.Join(dir, e.Name()))
		}
		names = append(names, found...)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s: got no file LICENSE or COPYING, want one", dir)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// A module is one that packages are of, as go list tells it.
type module struct {
	Path, Version, Dir string
	Main               bool
	Replace            *module
}

// modulesOf returns the modules of the packages that go list finds with the flags in a
// folder, by path.
func modulesOf(dir string, flags ...string) (map[string]module, error) {
	c := exec.Command("go", append([]string{"list", "-deps", "-json=Module"}, flags...)...)
	c.Dir, c.Stderr = dir, os.Stderr
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	found := map[string]module{}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct{ Module *module }
		if err := d.Decode(&p); err == io.EOF {
			return found, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		if m := p.Module; m != nil && !m.Main {
			if m.Replace != nil {
				m.Dir = m.Replace.Dir
			}
			found[m.Path] = *m
		}
	}
}

// checkLicences prints the licences of the modules of the project in dir, and returns
// an error that names those that may not be there.
func checkLicences(dir string) error {
	binary, err := modulesOf(dir, "-tags", "native", "./cmd/tpsh")
	if err != nil {
		return err
	}
	all, err := modulesOf(dir, "-test", "-tags", "native", "./...")
	if err != nil {
		return err
	}
	var bad []error
	for _, path := range sorted(all) {
		allowed, where := linked, "linked"
		if _, ok := binary[path]; !ok {
			allowed, where = slices.Concat(linked, tested), "tests"
		}
		names, err := licencesOf(all[path].Dir)
		if err != nil {
			bad = append(bad, fmt.Errorf("%s: %w", path, err))
			continue
		}
		fmt.Printf("%-8s %-40s %s\n", where, path+" "+all[path].Version, strings.Join(names, ", "))
		if !slices.ContainsFunc(names, func(n string) bool { return slices.Contains(allowed, n) }) || slices.ContainsFunc(names, func(n string) bool { return strings.HasSuffix(n, "GPL") }) {
			bad = append(bad, fmt.Errorf("%s: got %s, want one of %s (%s)", path, strings.Join(names, ", "), strings.Join(allowed, ", "), where))
		}
	}
	return errors.Join(bad...)
}

func sorted(m map[string]module) []string {
	var paths []string
	for path := range m {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return paths
}
