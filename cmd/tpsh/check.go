package main

import (
	"flag"
	"fmt"
	"io"
	"path/filepath"

	"tpsh/lang"
	static "tpsh/lang/check"
)

var checkCommand = &command{
	name:  "check",
	usage: "[--json | --sarif] [--lib DIR] PATH...",
	short: "finds mistakes of programs without running them; PATH is as for fmt",
	files: ".star",
	setup: func(fs *flag.FlagSet) func(*stdio, []string) error {
		asJSON := fs.Bool("json", false, "print a list in JSON: file, line, column, rule, message")
		asSARIF := fs.Bool("sarif", false, "print a log in SARIF 2.1.0, for code hosts and editors")
		l := new(limits)
		fs.Var(&l.lib, "lib", "look in `DIR` for files that are loaded, after the program's folder; may be repeated; those of TPSH_PATH come after")
		return func(std *stdio, paths []string) error {
			return checkPrograms(std, paths, *asJSON, *asSARIF, l.folders().Lib)
		}
	},
}

// checkPrograms checks programs and prints what it finds.
func checkPrograms(std *stdio, paths []string, asJSON, asSARIF bool, lib []string) error {
	if len(paths) == 0 {
		return usagef("check: got no path, want files, folders, or - for standard input")
	}
	if asJSON && asSARIF {
		return usagef("check: got --json and --sarif, want one of them")
	}
	files, err := programFiles("check", paths)
	if err != nil {
		return err
	}
	names, err := theLanguage()
	if err != nil {
		return err
	}
	language := &static.Language{Language: names, Lib: lib}
	found := []static.Finding{}
	for _, file := range files {
		name, text, err := readProgram(std, file)
		if err != nil {
			return filef("check: %w", err)
		}
		found = append(found, static.Source(name, lang.WithoutMark(text), language)...)
	}
	if err := printFindings(std.out, found, asJSON, asSARIF); err != nil {
		return err
	}
	if len(found) > 0 {
		return status(lang.StatusFailed)
	}
	return nil
}

func printFindings(w io.Writer, found []static.Finding, asJSON, asSARIF bool) error {
	switch {
	case asJSON:
		return writeJSON(w, found)
	case asSARIF:
		return writeJSON(w, sarif(found))
	}
	for _, f := range found {
		if _, err := fmt.Fprintln(w, f); err != nil {
			return err
		}
	}
	return nil
}

// An object is one of JSON.
type object = map[string]any

// sarif returns findings as a log of the format of that name.
func sarif(found []static.Finding) object {
	results, rules, seen := []object{}, []object{}, map[string]bool{}
	for _, f := range found {
		if !seen[f.Rule] {
			seen[f.Rule] = true
			rules = append(rules, object{"id": f.Rule, "shortDescription": object{"text": static.Rules[f.Rule]}})
		}
		results = append(results, object{
			"ruleId": f.Rule, "level": "error", "message": object{"text": f.Message},
			"locations": []object{{"physicalLocation": object{
				"artifactLocation": object{"uri": filepath.ToSlash(f.File)},
				"region":           object{"startLine": f.Line, "startColumn": f.Column},
			}}},
		})
	}
	return object{
		"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
		"runs": []object{{"tool": object{"driver": object{"name": "tpsh check", "rules": rules}}, "results": results}},
	}
}
