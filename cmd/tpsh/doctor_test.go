package main

import (
	"testing"

	"tpsh/internal/allowance"
)

// The doctor names the control group that leaves a run less than the machine has.
func TestDoctorNamesGroups(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{coresAllowed(allowance.Limit{N: 8}), ""},
		{coresAllowed(allowance.Limit{N: 3, File: "/g/cpu.max"}), ", but /g/cpu.max allows 3"},
		{memoryAllowed(allowance.Limit{N: 8 << 30}, 4<<30), ""},
		{memoryAllowed(allowance.Limit{N: 2 << 30, File: "/g/memory.max"}, 512<<20), ", but /g/memory.max allows 2.0 GiB, of which 512.0 MiB are left"},
	} {
		if test.got != test.want {
			t.Errorf("got %q, want %q", test.got, test.want)
		}
	}
}
