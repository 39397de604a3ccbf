package main

import (
	"fmt"
	"slices"
	"strings"
)

// A target is a system that wheels are for, in Go's words.
type target struct{ os, arch string }

// platforms gives the targets the tags of the systems that their wheels may be
// installed on. A static command needs no C library, so that of Linux is for every
// one; macOS is as old as Go supports.
var platforms = map[target][]string{
	{"linux", "amd64"}:   {"manylinux2014_x86_64", "manylinux_2_17_x86_64", "musllinux_1_1_x86_64"},
	{"linux", "arm64"}:   {"manylinux2014_aarch64", "manylinux_2_17_aarch64", "musllinux_1_1_aarch64"},
	{"darwin", "amd64"}:  {"macosx_12_0_x86_64"},
	{"darwin", "arm64"}:  {"macosx_12_0_arm64"},
	{"windows", "amd64"}: {"win_amd64"},
	{"windows", "arm64"}: {"win_arm64"},
}

// tags returns the tags of t's platform.
func (t target) tags() ([]string, error) {
	tags, ok := platforms[t]
	if !ok {
		var known []string
		for p := range platforms {
			known = append(known, p.os+"/"+p.arch)
		}
		slices.Sort(known)
		return nil, fmt.Errorf("got the target %s/%s, want one of %s", t.os, t.arch, strings.Join(known, ", "))
	}
	return tags, nil
}

// command returns where the command of t lies in a wheel.
func (t target) command() string {
	if t.os == "windows" {
		return "tpsh/bin/tpsh.exe"
	}
	return "tpsh/bin/tpsh"
}
