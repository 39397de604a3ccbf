package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"tpsh/lang"
)

// A failureFile is what --failure asks for: how the run failed, for programs.
type failureFile struct {
	path string
	said lang.Cause // what was reported; zero if nothing was
}

func (f *failureFile) declare(fs *flag.FlagSet) {
	fs.StringVar(&f.path, "failure", "", "if the run fails, write kind, ranks, line, message and report of it to `FILE.json`")
}

// note keeps how a program ended on the ranks, and what was said behind the report.
func (f *failureFile) note(o *lang.Outcome, behind string) {
	f.said, _ = o.Cause()
	f.said.Report += behind
}

// noteUnreceived keeps that a program has left messages behind.
func (f *failureFile) noteUnreceived(err error) {
	message, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "Error in send: "), "\n")
	f.said = lang.Cause{Kind: "unreceived", Message: message, Report: err.Error() + "\n"}
}

// write writes the file if the run failed, as err says: with what was reported, or else
// with err itself. It returns err, or that the file cannot be written.
func (f *failureFile) write(err error) error {
	if err == nil || f.path == "" {
		return err
	}
	c := f.said
	if c.Kind == "" {
		c = lang.Cause{Kind: kindOf(err), Message: err.Error(), Report: fmt.Sprintf("tpsh: %v\n", err)}
	}
	if c.Ranks == nil {
		c.Ranks = []int{}
	}
	bad := writeFile("the failure", f.path, func(w io.Writer) error { return json.NewEncoder(w).Encode(c) })
	return errors.Join(err, bad)
}

// kindOf says of what kind the error of a command is that has run nothing.
func kindOf(err error) string {
	switch {
	case errors.As(err, new(usageError)), errors.As(err, new(fileError)):
		return "usage"
	case errors.Is(err, errInterrupted):
		return "interrupted"
	case errors.As(err, new(jobError)):
		return "job"
	}
	return "other"
}
