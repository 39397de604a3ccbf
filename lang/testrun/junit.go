package testrun

import (
	"encoding/xml"
	"fmt"
	"os"
	"strings"
)

// A junitTeller writes a report in the XML of JUnit when all tests have ended:
// a suite for each file, a case for each test, number of ranks and transport.
type junitTeller struct {
	path  string
	suite junitSuite // of the file under way
	all   junitReport
}

type junitReport struct {
	XMLName xml.Name     `xml:"testsuites"`
	Suites  []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Time     string      `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	Time    string        `xml:"time,attr"`
	File    string        `xml:"file,attr,omitempty"`
	Line    int           `xml:"line,attr,omitempty"`
	Failure *junitMessage `xml:"failure"`
	Skipped *junitMessage `xml:"skipped"`
	Output  string        `xml:"system-out,omitempty"`
}

type junitMessage struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

func (t *junitTeller) begin(*testCase) {}

func (t *junitTeller) test(c *testCase) {
	jc := junitCase{Name: c.label(), Class: c.path, Time: junitTime(c.elapsed.Seconds()), File: c.path, Line: c.line, Output: c.output}
	if c.action == skipped {
		jc.Skipped = &junitMessage{Message: c.note}
		t.suite.Skipped++
	}
	if c.action == failed {
		jc.Failure = &junitMessage{firstError(c.report), c.report}
		t.suite.Failures++
	}
	t.suite.Cases = append(t.suite.Cases, jc)
}

// firstError returns the line of a report with the failure.
func firstError(report string) string {
	first, _, _ := strings.Cut(report, "\n")
	for line := range strings.Lines(report) {
		if strings.HasPrefix(line, "Error") {
			return strings.TrimSuffix(line, "\n")
		}
	}
	return first
}

// file closes the suite of a file. A failure of the file as a whole is a
// case of the file's name.
func (t *junitTeller) file(res *fileResult) {
	t.suite.Name, t.suite.Time = res.path, junitTime(res.elapsed.Seconds())
	whole := junitCase{Name: res.path, Class: res.path, Time: junitTime(0), File: res.path}
	switch {
	case res.action == skipped:
		whole.Skipped = &junitMessage{Message: res.note}
		t.suite.Skipped++
		t.suite.Cases = append(t.suite.Cases, whole)
	case res.action == failed && res.note != "":
		whole.Failure = &junitMessage{firstError(res.note), res.note}
		t.suite.Failures++
		t.suite.Cases = append(t.suite.Cases, whole)
	}
	t.suite.Tests = len(t.suite.Cases)
	t.all.Suites = append(t.all.Suites, t.suite)
	t.suite = junitSuite{}
}

func (t *junitTeller) end(totals) error {
	data, err := xml.MarshalIndent(t.all, "", "  ")
	if err != nil {
		return fmt.Errorf("%s: %w", t.path, err)
	}
	data = append([]byte(xml.Header), append(data, '\n')...)
	if err := os.WriteFile(t.path, data, 0o666); err != nil {
		return fmt.Errorf("cannot write %s: %w", t.path, reason(err))
	}
	return nil
}

func junitTime(seconds float64) string { return fmt.Sprintf("%.3f", seconds) }
