// Sbom says what a binary of tpsh is made of, and whether its parts may be.
//
//	go run . licences ../..            // of every module, also those of tests alone
//	go run . write BINARY >tpsh.cdx.json
//	go run . check tpsh.cdx.json
//
// The list is in CycloneDX 1.5 (ECMA-424), as JSON. It is made from what the linker has
// written into the binary, and from the licence files in the cache of modules. The
// same binary gives the same bytes: there is no time in it, and its serial number
// is made of the binary's hash.
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "sbom: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("got %d arguments, want licences FOLDER, write BINARY or check FILE", len(args))
	}
	switch args[0] {
	case "licences":
		return checkLicences(args[1])
	case "write":
		b, err := newBOM(args[1])
		if err != nil {
			return err
		}
		e := json.NewEncoder(os.Stdout)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(b)
	case "check":
		data, err := os.ReadFile(args[1])
		if err != nil {
			return err
		}
		n, err := check(data)
		if err != nil {
			return fmt.Errorf("%s: %w", args[1], err)
		}
		fmt.Printf("%s: %d components, each with a version, a licence and a purl\n", args[1], n)
		return nil
	}
	return fmt.Errorf("got %q, want licences, write or check", args[0])
}
