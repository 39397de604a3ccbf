package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"tpsh/cmd/tpsh/launch"
	"tpsh/runtime"
)

// profileText names the profile in help texts.
const profileText = "tpsh/profile.json in your configuration folder"

// A profile holds what calls were measured to cost on this machine, by
// transport. predicted_seconds of a trace goes by it; nothing that a run does
// depends on it.
type profile map[string]runtime.Cost

// profilePath returns where the profile is kept.
func profilePath() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "tpsh", "profile.json"), nil
}

// readProfile returns the profile; an empty one if there is none that can be
// read.
func readProfile() profile {
	p := profile{}
	path, err := profilePath()
	if err != nil {
		return p
	}
	data, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(data, &p) != nil {
		return profile{}
	}
	return p
}

// costOf returns the measured cost of calls over a transport, zero if it was
// not measured or makes no sense.
func costOf(transport string) runtime.Cost {
	c := readProfile()[transport]
	if c.Alpha > 0 && c.Beta > 0 {
		return c
	}
	return runtime.Cost{}
}

// writeProfile measures all transports and writes the profile.
func (b *bench) writeProfile(ctx context.Context, std *stdio) error {
	path, err := profilePath()
	if err != nil {
		return fmt.Errorf("bench: where to write the profile: %w", err)
	}
	p := profile{}
	for _, transport := range transports() {
		if transport == launch.Automatic {
			continue // shared memory on one host
		}
		c, err := b.fit(ctx, transport)
		if err != nil {
			return benchFailed(ctx, transport, err)
		}
		p[transport] = c
		fmt.Fprintf(std.out, "%-8s %8.2f µs and %7.4f ns a byte\n", transport, c.Alpha*1e6, c.Beta*1e9)
	}
	p[launch.Automatic] = p[launch.SharedMemory]
	data, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	return writeMeasured(std, path, append(data, '\n'))
}

// writeMeasured writes what was measured to a file of the configuration folder, and says so.
func writeMeasured(std *stdio, path string, data []byte) error {
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = unwritten(path, os.WriteFile(path, data, 0o644))
	}
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	fmt.Fprintf(std.out, "written to %s\n", path)
	return nil
}

// fitSizes are the bytes of the calls that a cost is fitted to.
var fitSizes = []int{8, 4 << 10, 256 << 10, 4 << 20, 16 << 20}

// fit measures all_reduce on two ranks, each of which sends what it puts in.
func (b *bench) fit(ctx context.Context, transport string) (runtime.Cost, error) {
	one := *b
	one.transport = transport
	var sizes, seconds []float64
	for _, size := range fitSizes {
		if size > int(b.maxBytes) {
			break
		}
		f, err := one.measure(ctx, &benchCase{ranks: 2, before: fmt.Sprintf("x = ones(%d)", size/4), body: "all_reduce(x)"})
		if err != nil {
			return runtime.Cost{}, err
		}
		sizes, seconds = append(sizes, float64(size)), append(seconds, f.seconds)
	}
	return fitCost(sizes, seconds), nil
}

// fitCost returns the cost alpha + beta*size that misses seconds least, by the
// squares of the misses relative to seconds. Neither part is below the least
// that a clock shows, so that a cost is never zero.
func fitCost(sizes, seconds []float64) runtime.Cost {
	// With weights 1/t², the normal equations of t = alpha + beta*s.
	var w, ws, wss, wt, wst float64
	for i, s := range sizes {
		t := max(seconds[i], 1e-9)
		k := 1 / (t * t)
		w, ws, wss = w+k, ws+k*s, wss+k*s*s
		wt, wst = wt+k*t, wst+k*s*t
	}
	const least = 1e-15
	c := runtime.Cost{Alpha: wt / max(w, least), Beta: least}
	if det := w*wss - ws*ws; det > 0 {
		c = runtime.Cost{Alpha: (wt*wss - ws*wst) / det, Beta: (w*wst - ws*wt) / det}
	}
	return runtime.Cost{Alpha: max(c.Alpha, 1e-9), Beta: max(c.Beta, least)}
}
