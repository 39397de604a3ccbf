package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Zsh, where it is installed, completes the same as the other shells: it is typed to at
// a terminal, as its completion runs nowhere else.
func TestZshCompletion(t *testing.T) {
	zsh, err := exec.LookPath("zsh")
	if err != nil {
		t.Skip("no zsh on this machine")
	}
	bin, dir := t.TempDir(), completionFolder(t)
	if err := os.WriteFile(filepath.Join(bin, "completion"), []byte(completionOf(t, "zsh")), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(os.Args[0], filepath.Join(bin, "tpsh")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(zsh, "-f", "-i")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), commandVariable+"=1", "TERM=xterm", "HOME="+bin, "ZDOTDIR="+bin, "PATH="+bin+":"+os.Getenv("PATH"), "PS1=")
	p := sitBefore(t, 100, 40, cmd, "ask> ")
	io.WriteString(p.keys, "PS1='as''k> '; unsetopt promptsp zlebracketedpaste; autoload -U compinit; compinit -u -D; source "+filepath.Join(bin, "completion")+"; clear\r")
	p.wait()
	for _, c := range completedLines {
		io.WriteString(p.keys, c.line+"\t")
		want := p.prompt + c.line[:strings.LastIndexByte(c.line, ' ')+1] + c.want
		p.until(func(screen string) bool { return screen == want })
		io.WriteString(p.keys, "\x15\x0c") // Ctrl-U, Ctrl-L
		p.wait()
	}
}
