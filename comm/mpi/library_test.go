package mpi

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestFamilyOf(t *testing.T) {
	for _, test := range []struct{ text, family, version string }{
		{"Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4, May 26, 2022", "Open MPI", "4.1.4"},
		{"MPICH Version:\t4.0.2\nMPICH Release date:\tThu Apr  7 12:34:45 CDT 2022\n", "MPICH", "4.0.2"},
		{"Intel(R) MPI Library 2021.9 for Linux* OS\n", "MPICH", "2021.9"},
		{"MVAPICH2 Version      :\t2.3.7\n", "MPICH", "2.3.7"},
		{"Open MPI", "Open MPI", ""},
	} {
		f, err := familyOf(test.text)
		if err != nil || f.name != test.family || versionOf(test.text) != test.version {
			t.Errorf("%q: got %v, %v, %q, want %s %s", test.text, f, err, versionOf(test.text), test.family, test.version)
		}
	}
	for _, text := range []string{"", "LAM/MPI 7.1", "open mpi v4"} {
		if f, err := familyOf(text); err == nil {
			t.Errorf("%q: got %s, want an error", text, f.name)
		}
	}
}

// What a library says of itself, whatever it is, is read without harm.
func FuzzVersionOf(f *testing.F) {
	f.Add("Open MPI v4.1.4, package")
	f.Add("MPICH Version:\t4.0.2\n\x00\x00")
	f.Fuzz(func(t *testing.T, text string) {
		if v := versionOf(text); strings.ContainsAny(v, " \t\n\x00,") || !strings.Contains(text, v) {
			t.Errorf("versionOf(%q) = %q, want a word of it", text, v)
		}
		if family, err := familyOf(text); (family == nil) == (err == nil) {
			t.Errorf("familyOf(%q) = %v and %v, want one of them", text, family, err)
		}
	})
}

// The layouts are those of mpi.h.
func TestStatusLayouts(t *testing.T) {
	for _, test := range []struct {
		family           *family
		status           []byte
		source, tag, len int
	}{
		{openMPI, []byte{1, 0, 0, 0, 2, 0, 0, 0, 9, 9, 9, 9, 9, 9, 9, 9, 3, 4, 0, 0, 1, 0, 0, 0}, 1, 2, 1<<32 + 0x403},
		{openMPI, append([]byte{255, 255, 255, 255, 254, 255, 255, 255}, make([]byte, 16)...), -1, -2, 0},
		{mpich, []byte{3, 4, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 9, 9, 9, 9}, 1, 2, 1<<32 + 0x403},
		{mpich, []byte{255, 255, 255, 255, 1, 0, 0, 0, 254, 255, 255, 255, 0, 0, 0, 0, 0, 0, 0, 0}, -2, 0, 1<<32 - 1},
	} {
		f := test.family
		if len(test.status) != f.status {
			t.Errorf("%s: got a status of %d bytes, want %d", f.name, f.status, len(test.status))
		}
		if s, tag, n := f.sourceOf(test.status), f.tagOf(test.status), f.count(test.status); s != test.source || tag != test.tag || n != test.len {
			t.Errorf("%s: %v: got source %d, tag %d, %d bytes, want %d, %d, %d", f.name, test.status, s, tag, n, test.source, test.tag, test.len)
		}
	}
}

func TestFind(t *testing.T) {
	const (
		open  = "libmpi.so.40"
		hydra = "libmpich.so.12"
	)
	for _, test := range []struct{ name, env, installed, want string }{
		{"any", "", open + " " + hydra, open},
		{"the only one", "", hydra, hydra},
		{"the launcher's", "PMI_RANK=0 PMI_SIZE=2", open + " " + hydra, hydra},
		{"the launcher's, the other", "OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2", open + " " + hydra, open},
		{"under its common name", "PMI_RANK=0 PMI_SIZE=2", open + " libmpi.so.12", "libmpi.so.12"},
		{"another than the launcher's", "PMI_RANK=0 PMI_SIZE=2", open, open},
		{"named", "TPSH_MPI=/opt/libmpi.so PMI_RANK=0 PMI_SIZE=2", open + " /opt/libmpi.so", "/opt/libmpi.so"},
		{"named, not there", "TPSH_MPI=/opt/libmpi.so", open, `mpi: for variable "TPSH_MPI": got "/opt/libmpi.so", want the file of an MPI library`},
		{"named so, empty", "TPSH_MPI=", open, open},
		{"none", "", "", "mpi: got no MPI library, want one"},
		{"none for the launcher", "PMI_RANK=0 PMI_SIZE=2", "", "mpi: got no MPI library, want one"},
	} {
		installed := strings.Fields(test.installed)
		l, err := find(environment(test.env), func(name string) (*Library, error) {
			if !slices.Contains(installed, name) {
				return nil, errors.New("no such file")
			}
			l := &Library{Path: name, Family: openMPI.name}
			if strings.HasSuffix(name, ".12") {
				l.Family = mpich.name
			}
			return l, nil
		})
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = l.Path
		}
		if !strings.HasPrefix(got, test.want) || err == nil && got != test.want {
			t.Errorf("%s: got %s, want %s", test.name, got, test.want)
		}
	}
}
