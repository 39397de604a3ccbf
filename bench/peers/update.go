package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// tableEnd is the mark of a page that ends a table.
const tableEnd = "<!-- end of table -->\n"

// tableName is the name of the table of everything.
const tableName = "everything"

// tableBegin returns the mark that begins a table.
func tableBegin(name string) string { return "<!-- table of bench/peers: " + name + " -->\n" }

// update puts a table between its marks of the page in a file. A page that is not there
// begins as one of this processor, with room for every table.
func update(file, name, table string) error {
	page, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		page, err = []byte(emptyPage()), nil
	}
	if err != nil {
		return err
	}
	text, err := replaceTable(string(page), name, table)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return os.WriteFile(file, []byte(text), 0o644)
}

// emptyPage is the page of this processor before anything is measured.
func emptyPage() string {
	var page strings.Builder
	fmt.Fprintf(&page, "# %s\n", processor())
	for _, name := range append([]string{tableName}, gridNames()...) {
		fmt.Fprintf(&page, "\n%s%s", tableBegin(name), tableEnd)
	}
	return page.String()
}

// gridNames returns the names of all grids of collectives between processes.
func gridNames() []string {
	var names []string
	for _, g := range grids([]string{"shm", "tcp", "mpi"}, []int{2, 4}, "") {
		names = append(names, g.name())
	}
	return names
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
