package testrun

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"regexp"
	"time"

	"tpsh/lang"
)

// Options say which tests to run, on which ranks, and how to tell of them.
type Options struct {
	// Paths are files, and folders that are searched for *_test.star files;
	// none is the working folder.
	Paths []string
	// Ranks are the numbers of ranks asked for; none for those that each file
	// names, or else 1, 2 and 4.
	Ranks []int
	// Transports are the transports asked for; at least one.
	Transports []string
	// Match selects tests by their names; nil for all.
	Match *regexp.Regexp

	// Start starts ranks and returns the connections to them, by rank. stop
	// ends them after the session on them has been closed; o is how the program
	// ended, nil if it was not run. It returns the failure of a program that
	// ended well on all of them but those that were killed on purpose, such as
	// messages that nobody received, in the words of a report.
	Start func(ranks int, transport string) (conns []lang.Conn, stop func(o *lang.Outcome) error, err error)

	// Check is asked, before any test, whether the programs may run with the flags that
	// the command line gives; nil for yes.
	Check func(programs []lang.Program) error

	// Folders are those that test files load files from, beside their own.
	Folders lang.Folders

	// Recorded, if set, returns the function that gets the ranks' records of a test (see
	// lang.Recorder).
	Recorded func(test string, ranks int, transport string) func(rank int, data []byte)

	// Debugger, if set, is told where the ranks of a test stop. Drive then calls run,
	// which runs the test, and returns when that has.
	Debugger lang.Debugger
	Drive    func(s *lang.Session, run func())

	Timeout  time.Duration // of a test; 0 is a minute
	MaxSteps uint64        // of a test on a rank; 0 for no limit

	FailFast bool   // end with the first failure
	List     bool   // name the tests instead of running them
	Parallel int    // how many files to run at a time; 0 counts as 1
	Shuffle  *int64 // the seed of a random order of files and tests; nil for none
	Cover    string // the file that gets the lines that were run, in the format of lcov; "" for none

	Verbose bool      // tell of every test, and show its output
	JSON    bool      // one event in JSON a line instead of text
	JUnit   string    // the file that gets a report in JUnit's XML; "" for none
	Out     io.Writer // gets all that is told
	Err     io.Writer // gets mistakes in the options, and notes
}

// defaultRanks are the numbers of ranks for a file that names none.
var defaultRanks = []int{1, 2, 4}

const defaultTimeout = time.Minute

// Run runs the tests and returns the exit status.
func Run(ctx context.Context, opts Options) int {
	if opts.Timeout == 0 {
		opts.Timeout = defaultTimeout
	}
	paths, err := find(opts.Paths)
	if err != nil {
		fmt.Fprintln(opts.Err, err)
		return lang.StatusUsage
	}
	var files []*file
	for _, path := range paths {
		f, err := readFile(path)
		if err != nil {
			fmt.Fprintln(opts.Err, err)
			return lang.StatusUsage
		}
		f.program.Folders = opts.Folders
		files = append(files, f)
	}
	if err := opts.check(files); err != nil {
		fmt.Fprintln(opts.Err, err)
		return lang.StatusUsage
	}
	if opts.Match != nil && !anyMatch(files, opts.Match) {
		fmt.Fprintf(opts.Err, "no test matches %q\n", opts.Match)
		return lang.StatusUsage
	}
	out := &outlet{w: opts.Out}
	opts.Out = out
	r := &runner{Options: opts, out: out, tell: newTellers(opts, out), cover: make(lang.Cover)}
	if opts.Shuffle != nil {
		r.shuffle(files)
	}
	if opts.List {
		r.list(files)
		return r.status(ctx, nil)
	}
	return r.run(ctx, files)
}

// check asks Check.
func (o *Options) check(files []*file) error {
	if o.Check == nil {
		return nil
	}
	var programs []lang.Program
	for _, f := range files {
		programs = append(programs, f.program)
	}
	return o.Check(programs)
}

// anyMatch reports whether a test of the files matches, or may.
func anyMatch(files []*file, match *regexp.Regexp) bool {
	for _, f := range files {
		if f.mistake != "" || len(f.matching(match)) > 0 {
			return true
		}
	}
	return false
}

// A totals counts tests. A failure of a whole file counts as one.
type totals struct{ passed, failed, skipped int }

func (t totals) String() string {
	s := fmt.Sprintf("%d passed, %d failed", t.passed, t.failed)
	if t.skipped > 0 {
		s += fmt.Sprintf(", %d skipped", t.skipped)
	}
	return s
}

func (t *totals) add(more totals) {
	t.passed, t.failed, t.skipped = t.passed+more.passed, t.failed+more.failed, t.skipped+more.skipped
}

// A fileResult is the result of a file.
type fileResult struct {
	path    string
	action  action
	note    string // why it was skipped, failed as a whole, or nothing ran
	elapsed time.Duration
}

// An action says how a test or a file ended.
type action string

const (
	passed  action = "pass"
	failed  action = "fail"
	skipped action = "skip"
)

// maxCapture is how much of a test's output is kept for its report.
const maxCapture = 1 << 20

// A capture keeps the bytes written to it, up to maxCapture, and passes them on.
type capture struct {
	live io.Writer // or nil
	kept bytes.Buffer
	more bool // something is not kept
}

func (c *capture) Write(p []byte) (int, error) {
	keep := min(len(p), maxCapture-c.kept.Len())
	c.kept.Write(p[:keep])
	c.more = c.more || keep < len(p)
	if c.live != nil {
		return c.live.Write(p)
	}
	return len(p), nil
}

func (c *capture) String() string {
	if c.more {
		return c.kept.String() + "\n... the rest of the output is not shown\n"
	}
	return c.kept.String()
}
