package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// nobody is a user who has nothing to do with a job.
const nobody = 65534

// unguessable are names with 130 random bits.
var unguessable = regexp.MustCompile(`-[A-Z2-7]{26}(/1|-resume)$`)

// asNobody runs a command of the shell as nobody, and returns what it printed.
func asNobody(command string) string {
	c := exec.Command("sh", "-c", command)
	c.Dir = "/"
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, _ := c.CombinedOutput() // that it fails is what is wanted
	return string(out)
}

// Other users of a machine learn nothing of a job but that it is there: not its
// token, not what its scripts write into temporary folders, and no connection or
// memory of its ranks has a name that they could open. Nor does a child find the token
// in what it inherits.
func TestOtherUsers(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can be somebody else")
	}
	const token = "what-only-the-job-knows"
	script := writeScript(t, "for d in [tmpdir(), resume_dir()]:\n    write_text(d + '/secret-%d' % rank(), 'a secret')\n    barrier()\n    if rank() == 0:\n        print(d)\nbarrier()\nwhile True:\n    pass\n")
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TPSH_TOKEN", token)
	for _, transport := range distinctTransports() {
		t.Run(transport, func(t *testing.T) {
			p := startProcess(t, "run", "-n", "2", "--transport", transport, "--token-file", file, script)
			for dir, mode := range map[string]os.FileMode{p.tmp: 0o777 | os.ModeSticky, filepath.Dir(p.tmp): 0o755} { // as /tmp is
				if err := os.Chmod(dir, mode); err != nil {
					t.Fatal(err)
				}
			}
			if out := asNobody("ls -d " + p.tmp); strings.TrimSpace(out) != p.tmp {
				t.Fatalf("nobody cannot look at %s, which is to be as open as /tmp: %s", p.tmp, out)
			}
			for range 2 {
				dir := strings.TrimPrefix(p.line(t), "[0] ")
				if rest, ok := strings.CutPrefix(dir, p.tmp); !ok || !unguessable.MatchString(rest) {
					t.Errorf("a folder %s, want one in %s whose name cannot be guessed", dir, p.tmp)
				}
				if out := asNobody("ls " + dir + "; cat " + dir + "/*; touch " + dir + "/x; echo > " + dir + "/secret-0"); strings.Count(out, "Permission denied") < 2 || strings.Contains(out, "a secret") {
					t.Errorf("nobody reads %s:\n%s", dir, out)
				}
			}
			if out := asNobody(fmt.Sprintf("find %s -type f; find /dev/shm -readable -name '*tpsh*'; ls /proc/net/unix >/dev/null; grep -i tpsh /proc/net/unix", p.tmp)); strings.Contains(out, "secret") || strings.Contains(out, "shm/") || strings.Contains(strings.ReplaceAll(out, p.tmp, ""), "@") {
				t.Errorf("nobody finds\n%s", out)
			}
			pids := children(p.Process.Pid)
			for _, pid := range append(pids, p.Process.Pid) {
				out := asNobody(fmt.Sprintf("for of in environ mem fd/3 fd/4 fd/5; do cat /proc/%d/$of; done", pid))
				if refused := strings.Count(out, "Permission denied") + strings.Count(out, "No such file"); strings.Contains(out, token) || refused != 5 {
					t.Errorf("nobody reads some of five files of process %d: %.500q", pid, out)
				}
			}
			if out := asNobody("ps axww 2>/dev/null; cat /proc/[0-9]*/cmdline"); strings.Contains(out, token) {
				t.Errorf("the token is among command lines")
			}
			for _, pid := range pids {
				if environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)); len(environ) == 0 || strings.Contains(string(environ), token) || strings.Contains(string(environ), "TPSH_TOKEN") {
					t.Errorf("process %d finds the token in its environment", pid)
				}
			}
			p.Process.Signal(syscall.SIGINT)
			p.end(t, 130, pids)
		})
	}
}
