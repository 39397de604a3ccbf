package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// besideName is the name of the table in which processors stand side by side.
const besideName = "side by side"

// A processorPage is what the page of a processor says: its title, and the rows of its
// table of everything.
type processorPage struct {
	title string
	order []string               // the cases, as they stand
	rows  map[string]measuredRow // by case
}

// A measuredRow is a row of a table of everything.
type measuredRow struct {
	at    string // ranks, cores
	ours  string // a time or a rate
	peers []measuredPeer
}

// A measuredPeer is a peer of a row: how many times as long as tpsh it takes.
type measuredPeer struct {
	name  string
	ratio float64
}

// writeBeside puts the tables of processors' pages, side by side, into a page.
func writeBeside(page string, files []string) error {
	table, err := besideTable(files)
	if err != nil {
		return err
	}
	return update(page, besideName, table)
}

// besideTable is the table with a column for each page. A cell has what tpsh takes, and
// which peer is the fastest and how many times as long it takes.
func besideTable(files []string) (string, error) {
	var pages []processorPage
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		page, err := readProcessorPage(string(text))
		if err != nil {
			return "", fmt.Errorf("%s: %w", file, err)
		}
		pages = append(pages, page)
	}
	var out strings.Builder
	out.WriteString("| case | ranks, cores |")
	for _, p := range pages {
		fmt.Fprintf(&out, " %s |", p.title)
	}
	fmt.Fprintf(&out, "\n| --- | --- |%s\n", strings.Repeat(" --- |", len(pages)))
	for _, key := range unionOfCases(pages) {
		name, at, _ := strings.Cut(key, "|")
		fmt.Fprintf(&out, "| %s | %s |", name, at)
		for _, p := range pages {
			if row, measured := p.rows[key]; measured {
				fmt.Fprintf(&out, " %s |", row.cell())
			} else {
				out.WriteString(" |")
			}
		}
		out.WriteByte('\n')
	}
	return out.String(), nil
}

// cell is "147.5 GFLOP/s, PyTorch 0.91": what tpsh takes, and the fastest of its peers.
func (r measuredRow) cell() string {
	if len(r.peers) == 0 {
		return r.ours
	}
	fastest := slices.MinFunc(r.peers, func(a, b measuredPeer) int {
		switch {
		case a.ratio < b.ratio:
			return -1
		case a.ratio > b.ratio:
			return 1
		}
		return 0
	})
	return fmt.Sprintf("%s, %s %.2f", r.ours, fastest.name, fastest.ratio)
}

// unionOfCases returns the cases of all pages: in the order of the works of this program,
// and behind them those that it no longer has.
func unionOfCases(pages []processorPage) []string {
	var all []string
	add := func(key string) {
		has := func(p processorPage) bool { _, measured := p.rows[key]; return measured }
		if !slices.Contains(all, key) && slices.ContainsFunc(pages, has) {
			all = append(all, key)
		}
	}
	for _, w := range works() {
		add(caseKey(w.name, fmt.Sprintf("%d, %d", w.ranks, w.cores)))
	}
	for _, p := range pages {
		for _, key := range p.order {
			add(key)
		}
	}
	return all
}

// caseKey tells the cases of a table apart.
func caseKey(name, at string) string { return name + "|" + at }

// peerFigure is a peer in a row: "Open MPI 7.76 µs (0.85)".
var peerFigure = regexp.MustCompile(`(\D+?) [\d.]+ \S+ \(([\d.]+)\)`)

// readProcessorPage reads a page that update has written.
func readProcessorPage(text string) (processorPage, error) {
	page := processorPage{rows: map[string]measuredRow{}}
	first, rest, _ := strings.Cut(text, "\n")
	title, isTitle := strings.CutPrefix(first, "# ")
	if !isTitle {
		return page, fmt.Errorf("got first line %q, want # and the processor", first)
	}
	page.title = title
	_, table, begins := strings.Cut(rest, tableBegin(tableName))
	table, _, ends := strings.Cut(table, tableEnd)
	if !begins || !ends {
		return page, fmt.Errorf("has no table of %s", tableName)
	}
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 6 || strings.HasPrefix(cells[1], " case") || strings.HasPrefix(cells[1], " ---") {
			continue // what stands around the rows
		}
		row := measuredRow{at: strings.TrimSpace(cells[2]), ours: strings.TrimSpace(cells[3])}
		for _, match := range peerFigure.FindAllStringSubmatch(cells[4], -1) {
			ratio, err := strconv.ParseFloat(match[2], 64)
			if err != nil {
				return page, fmt.Errorf("%s: %w", line, err)
			}
			row.peers = append(row.peers, measuredPeer{strings.Trim(match[1], " ,"), ratio})
		}
		key := caseKey(strings.TrimSpace(cells[1]), row.at)
		page.rows[key] = row
		page.order = append(page.order, key)
	}
	return page, nil
}
