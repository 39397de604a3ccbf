// Package report writes what a run, a test or a plan did as one page of HTML that
// needs no network: a timeline that zooms, who sent how much to whom, time and bytes
// by line and by module, memory over time by kind, how meshes hold named tensors,
// predictions beside measurements, and what is worth a look, in plain words.
//
// Terms:
//
//   - A Job is a set of ranks that ran together: a run has one, a test run one for
//     each test. A plan has none, but figures.
//   - The page's numbers are sums over all events (sum.go, lines.go, tree.go), made
//     here; those of a timeline are thinned out where there are too many to draw
//     (events.go).
//   - A wait is the part of a collective that a member spent before the last one
//     called it, or of a receive before its message was sent.
//
// What the page does with its data is in page.js; uPlot draws its curves. For example:
//
//	err := report.Write(f, &report.Report{Kind: "run", Title: "gpt.star", Jobs: []report.Job{{Ranks: ranks}}})
package report
