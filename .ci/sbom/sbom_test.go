package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Texts are told apart, also where one file holds several.
func TestRecognize(t *testing.T) {
	const (
		mit  = "Permission is hereby granted, free of charge, to any\nperson obtaining a copy of this software"
		bsd2 = "Redistribution and use in source and binary forms, with or without"
		bsd3 = bsd2 + "\nNeither the name ... may be used to endorse or promote products\nderived from this software"
	)
	for text, want := range map[string][]string{
		mit: {"MIT"}, bsd2: {"BSD-2-Clause"}, bsd3: {"BSD-3-Clause"}, "all rights reserved": nil,
		"Apache License\n  Version 2.0\n" + mit: {"Apache-2.0", "MIT"}, "GNU GENERAL PUBLIC LICENSE": {"GPL"},
	} {
		if got := recognize(text); !slices.Equal(got, want) {
			t.Errorf("%.40q: got %q, want %q", text, got, want)
		}
	}
}

// A module without a licence, or with one that is not known, is an error.
func TestLicencesOf(t *testing.T) {
	dir := t.TempDir()
	if _, err := licencesOf(dir); err == nil || !strings.Contains(err.Error(), "no file LICENSE") {
		t.Errorf("without a file: got %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "LICENSE"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := licencesOf(dir); err == nil || !strings.Contains(err.Error(), "no licence that is known") {
		t.Errorf("with a strange file: got %v", err)
	}
}

// The list of a binary, here the test's own, passes; with a field less it does not.
func TestCheck(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b, err := newBOM(self)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := check(data); err != nil || n != 1 { // the test is made of Go's own library
		t.Errorf("got %d, %v, want 1 component", n, err)
	}
	for field, want := range map[string]string{
		`"specVersion":"1.5",`: "the whole: lacks specVersion", `"type":"library",`: "components[]: lacks type", `"alg":"SHA-256",`: "metadata.component.hashes[]: lacks alg",
		`"purl":`: "components[].purl: got", `"ref":"std"`: "dependencies[]: lacks ref",
	} {
		broken := strings.Replace(string(data), field, "", 1)
		if field == `"purl":` {
			broken = strings.Replace(string(data), `"purl":"pkg:golang/`, `"purl":"golang/`, 1)
		}
		if _, err := check([]byte(broken)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("without %s: got %v, want %q", field, err, want)
		}
	}
}
