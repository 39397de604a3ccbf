package main

import (
	"fmt"
	"os"
	"strings"
)

// tableEnd is the mark of a page that ends a table.
const tableEnd = "<!-- end of table -->\n"

// tableName is the name of the table of everything.
const tableName = "everything"

// tableBegin returns the mark that begins a table.
func tableBegin(name string) string { return "<!-- table of bench/peers: " + name + " -->\n" }

// update puts a table between its marks of the page in a file.
func update(file, name, table string) error {
	page, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	text, err := replaceTable(string(page), name, table)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return os.WriteFile(file, []byte(text), 0o644)
}

// replaceTable returns page with a table between its marks.
func replaceTable(page, name, table string) (string, error) {
	begin := tableBegin(name)
	head, rest, begins := strings.Cut(page, begin)
	_, tail, ends := strings.Cut(rest, tableEnd)
	if !begins || !ends {
		return "", fmt.Errorf("no line %q with a line %q behind it", strings.TrimSpace(begin), strings.TrimSpace(tableEnd))
	}
	return head + begin + table + tableEnd + tail, nil
}
