package main

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const exampleDir = "../../examples"

// runExample runs an example in process and returns what it prints.
func runExample(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := run(&stdio{strings.NewReader(""), &out, &errs}, append([]string{"run"}, args...)); code != 0 {
		t.Fatalf("tpsh run %s: exit status %d\n%s", strings.Join(args, " "), code, &errs)
	}
	return out.String()
}

// distinctTransports are those that move data in different ways on one host.
func distinctTransports() []string {
	return slices.DeleteFunc(transports(), func(name string) bool { return name == "auto" })
}

// Every example prints on four ranks what the file beside it says, on the transports in
// turn. .ci/run has every example on every transport.
func TestExamples(t *testing.T) {
	scripts, err := filepath.Glob(filepath.Join(exampleDir, "*.star"))
	if err != nil || len(scripts) < 5 {
		t.Fatalf("found %d examples, %v", len(scripts), err)
	}
	turns := distinctTransports()
	for i, script := range scripts {
		golden := strings.TrimSuffix(script, ".star") + ".txt"
		transport := turns[i%len(turns)]
		t.Run(filepath.Base(script)+"/"+transport, func(t *testing.T) {
			got := runExample(t, "-n", "4", "--transport", transport, script)
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

// digitsSteps are for how many steps networks of digits are compared. TestExamples has
// both examples print on four ranks, after all of their steps, what is beside them.
const digitsSteps = 60

// A network split over 2 and 4 ranks is the same as on one: its loss stays
// within 1e-5 at every step, and it learns.
func TestDigitsByHand(t *testing.T) {
	for _, n := range []string{"2", "4"} {
		asOnOneRank(t, n, "digits_by_hand.star")
	}
}

// The network that a plan splits is that of digits_by_hand.star, on every mesh:
// its loss stays within 1e-5 of that on one rank at every step.
func TestDigits(t *testing.T) {
	for _, mesh := range []struct{ ranks, tp string }{{"1", "1"}, {"2", "1"}, {"2", "2"}, {"4", "2"}} {
		asOnOneRank(t, mesh.ranks, "digits.star", "--tp", mesh.tp)
	}
}

// asOnOneRank holds what an example prints on so many ranks to what digits_by_hand.star
// prints on one.
func asOnOneRank(t *testing.T, ranks, script string, flags ...string) {
	t.Helper()
	want, least := losses(t, digitsOnOneRank(t))
	if len(want) != digitsSteps || least < 0.9 {
		t.Fatalf("1 rank: %d losses and an accuracy of %g, want %d and more than 0.9", len(want), least, digitsSteps)
	}
	got, accuracy := losses(t, runExample(t, slices.Concat([]string{"-n", ranks, filepath.Join(exampleDir, script), "--"}, flags, digitsFlags)...))
	if len(got) != len(want) || accuracy < 0.9 {
		t.Fatalf("%s on %s ranks, %v: %d losses and an accuracy of %g, want %d and more than 0.9", script, ranks, flags, len(got), accuracy, len(want))
	}
	for i := range got {
		if d := math.Abs(got[i] - want[i]); d > 1e-5 {
			t.Fatalf("%s on %s ranks, %v: loss %.7f at step %d, want %.7f to 1e-5", script, ranks, flags, got[i], i+1, want[i])
		}
	}
}

// What is computed on digits in float64 is the same on every number of ranks and in every
// layout, to the last digit that is printed: what is beside the examples, or
// for fewer steps, of what takes many, what one rank prints.
func TestSameOnEveryMesh(t *testing.T) {
	short := runExample(t, "-n", "1", filepath.Join(exampleDir, "resnet.star"), "--", "--steps", "5")
	for _, c := range [][]string{
		{"kmeans.star", "1"}, {"kmeans.star", "2"}, {"kmeans.star", "7"},
		{"pca.star", "1"}, {"pca.star", "2"}, {"pca.star", "7"},
		{"resnet.star", "2", "--height", "1", "--steps", "5"}, {"resnet.star", "2", "--height", "2", "--steps", "5"}, {"resnet.star", "3", "--steps", "5"},
		{"resnet.star", "4", "--height", "1", "--steps", "5"}, {"resnet.star", "4", "--height", "4", "--steps", "5"},
	} {
		script := filepath.Join(exampleDir, c[0])
		got := runExample(t, slices.Concat([]string{"-n", c[1], script, "--"}, c[2:])...)
		want, err := os.ReadFile(strings.TrimSuffix(script, ".star") + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(c, "--steps") {
			want = []byte(short)
		}
		if got != string(want) {
			t.Errorf("%s prints\n%s\nwant\n%s", strings.Join(c, " "), got, want)
		}
	}
}

// digitsOnOneRank returns what digits_by_hand.star prints on one rank, which runs once
// for all tests.
func digitsOnOneRank(t *testing.T) string {
	digitsOnce.Do(func() {
		digitsPrinted = runExample(t, slices.Concat([]string{"-n", "1", filepath.Join(exampleDir, "digits_by_hand.star"), "--"}, digitsFlags)...)
	})
	if digitsPrinted == "" {
		t.Fatal("digits_by_hand.star has printed nothing on one rank")
	}
	return digitsPrinted
}

var digitsFlags = []string{"--steps", strconv.Itoa(digitsSteps), "--every", "1", "--decimals", "7"}

var (
	digitsOnce    sync.Once
	digitsPrinted string
)

// losses reads the losses and the accuracy that the example prints.
func losses(t *testing.T, out string) (losses []float64, accuracy float64) {
	t.Helper()
	for _, line := range strings.Split(strings.TrimSpace(out), "\n") {
		words := strings.Fields(line)
		last, err := strconv.ParseFloat(words[len(words)-1], 64)
		switch {
		case strings.HasPrefix(line, "training"), strings.HasPrefix(line, "mesh"), strings.HasPrefix(line, "communication"):
		case err != nil:
			t.Fatalf("line %q does not end in a number", line)
		case words[0] == "step":
			losses = append(losses, last)
		default:
			accuracy = last
		}
	}
	return losses, accuracy
}
