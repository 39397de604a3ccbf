package main

import (
	"fmt"
	"os"
	"strings"
)

// The marks of a page between which the table stands.
const (
	tableBegin = "<!-- table of bench/peers -->\n"
	tableEnd   = "<!-- end of table -->\n"
)

// update puts table between the marks of the page in a file.
func update(file, table string) error {
	page, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	text, err := replaceTable(string(page), table)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return os.WriteFile(file, []byte(text), 0o644)
}

// replaceTable returns page with table between its marks.
func replaceTable(page, table string) (string, error) {
	head, rest, begins := strings.Cut(page, tableBegin)
	_, tail, ends := strings.Cut(rest, tableEnd)
	if !begins || !ends {
		return "", fmt.Errorf("no line %q with a line %q behind it", strings.TrimSpace(tableBegin), strings.TrimSpace(tableEnd))
	}
	return head + tableBegin + table + tableEnd + tail, nil
}
