package main

import (
	"os"
	"path/filepath"
)

// herePath returns where the hardware file of this machine is kept.
func herePath() (string, error) {
	path, err := profilePath()
	return filepath.Join(filepath.Dir(path), "here.toml"), err
}

// hereText returns the hardware file of this machine: what is kept
// at herePath, or estimates.
func hereText() ([]byte, error) {
	path, err := herePath()
	if err != nil {
		return []byte(hereEstimate), nil
	}
	if _, err := os.Stat(path); err != nil { // nor is one where there can be no folder, or none that one may look into
		return []byte(hereEstimate), nil
	}
	return os.ReadFile(path)
}

// isEstimate reports whether --hw here is a machine of which nothing was measured.
func isEstimate() bool {
	text, err := hereText()
	return err == nil && string(text) == hereEstimate
}

// hereEstimate stands for a machine that has not been measured.
const hereEstimate = `# Nothing was measured: these are estimates of a small computer. A file of your
# figures, here.toml in tpsh's configuration folder, takes the place of these.
name = "here"
doc = "this machine, not measured: estimates"

memory = 8e9            # estimate: of all ranks
cores = 4               # estimate: what ranks share, with the rates of this file
memory_bandwidth = 8e9  # estimate
start = 4e-6            # estimate: of an operation, the script's part included

[peak]
float32 = 50e9          # estimate

[rest]
float32 = 2e9           # estimate

[[level]]
name = "host"
size = 4096
latency = 5e-6          # estimate
bandwidth = 4e9         # estimate
`
