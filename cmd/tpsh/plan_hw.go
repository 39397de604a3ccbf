package main

import (
	"fmt"
	"slices"
	"text/tabwriter"

	"tpsh/runtime/hardware"
)

// hardware lists the machines that --hw knows by name, or prints the file of
// one.
func (p *planner) hardware(std *stdio, args []string) error {
	switch len(args) {
	case 0:
		return listMachines(std)
	case 1:
		text, err := machineText(args[0])
		if err != nil {
			return err
		}
		if _, err := readMachine(args[0], text); err != nil { // what is no hardware file is not printed
			return err
		}
		_, err = std.out.Write(text)
		return err
	}
	return usagef("plan hw: got %d names, want one", len(args))
}

func listMachines(std *stdio) error {
	tw := tabwriter.NewWriter(std.out, 0, 0, 2, ' ', 0)
	for _, name := range append([]string{hereName}, hardware.Names()...) {
		m, err := loadMachine(name)
		if err != nil {
			return err
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\n", name, sized(m.Memory()), m.Doc)
	}
	return tw.Flush()
}

// hereName is what --hw calls this machine.
const hereName = "here"

// machineText returns the file of the machine that --hw names.
func machineText(name string) ([]byte, error) {
	if name == hereName {
		return hereText()
	}
	text, err := hardware.LoadText(name)
	if err != nil {
		return nil, usageError{err}
	}
	return text, nil
}

// loadMachine returns the machine of a plan, and says if it is an estimate.
func (p *planner) loadMachine(std *stdio) (*hardware.Machine, error) {
	m, err := loadMachine(p.machine)
	if err != nil {
		return nil, fmt.Errorf("for flag --hw: %w", err)
	}
	if p.machine == hereName && isEstimate() {
		fmt.Fprintln(std.err, "tpsh: nothing was measured on this machine, so --hw here is an estimate (tpsh bench --calibrate measures it)")
	}
	return m, nil
}

// loadMachine returns the machine that --hw names.
func loadMachine(name string) (*hardware.Machine, error) {
	text, err := machineText(name)
	if err != nil {
		return nil, err
	}
	return readMachine(name, text)
}

// readMachine reads the text of the machine that --hw names.
func readMachine(name string, text []byte) (*hardware.Machine, error) {
	if name == hereName || slices.Contains(hardware.Names(), name) {
		name += ".toml"
	}
	m, err := hardware.Read(name, text)
	if err != nil {
		return nil, fileError{err}
	}
	return m, nil
}
