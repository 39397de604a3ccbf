package main

import (
	"bytes"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"tpsh/cmd/tpsh/launch"
	"tpsh/cmd/tpsh/launch/launchtest"
	"tpsh/runtime/kernel/blas"
)

var update = flag.Bool("update", false, "rewrite the expected output in testdata/script")

// watchSaves watches the saves of this process, where the system allows that.
var watchSaves = func() {}

func TestMain(m *testing.M) {
	release = os.Getenv(versionVariable)
	watchSaves()
	if launch.IsWorker() {
		os.Exit(work())
	}
	if os.Getenv(commandVariable) != "" {
		main()
	}
	// What somebody has measured here and keeps in a home changes what commands say. Those
	// of scripts have the home that their script says.
	if filepath.Base(os.Args[0]) != "tpsh" {
		if err := os.Setenv("XDG_CONFIG_HOME", filepath.Join(os.DevNull, "config")); err != nil {
			panic(err)
		}
		heedSignals()
		if os.Getenv("GOGC") == "" {
			debug.SetGCPercent(usualPercent) // what tests run here is collected as often as in the command
		}
	}
	testscript.Main(m, map[string]func(){
		"tpsh": main,
	})
}

// heedSignals lets the processes that tests start heed an interrupt and a hangup where
// this process was started to ignore them, as under nohup or in the background of a
// script: what it handles itself is as usual in those that it starts.
func heedSignals() {
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGHUP} {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
}

// commandVariable is in the environment of the test binary when it is to be
// the command.
const commandVariable = "TPSH_TEST_COMMAND"

// versionVariable is in the environment of the test binary when it is to be of
// that version.
const versionVariable = "TPSH_TEST_VERSION"

const scriptDir = "testdata/script"

// Each file of testdata/script is one behaviour of the command.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: scriptDir, UpdateScripts: *update, RequireExplicitExec: true, Setup: findPorts, Condition: condition})
}

// condition adds to the conditions of scripts [native], which holds in a binary
// that can open libraries.
func condition(name string) (bool, error) {
	if name == "native" {
		return blas.Built, nil
	}
	return false, fmt.Errorf("unknown condition %q", name)
}

// findPorts sets PORT1 to PORT9 to ports on which nobody listens, and EXAMPLES to
// the folder of the examples.
func findPorts(env *testscript.Env) error {
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		return err
	}
	env.Setenv("EXAMPLES", examples)
	for i := 1; i <= 9; i++ {
		address, err := launchtest.Address()
		if err != nil {
			return err
		}
		_, port, _ := net.SplitHostPort(address)
		env.Setenv(fmt.Sprintf("PORT%d", i), port)
	}
	return nil
}

var everyTransport = flag.Bool("every-transport", false, "run on shm and on tcp what is else run on one of them in turn, or on none")

// What those files say of frames is true of ranks that are processes, too: every second file on
// shm or tcp in turn, and with -every-transport all on both.
func TestScriptOfProcesses(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(scriptDir, "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	list := []string{"shm", "tcp"}
	for turn, transport := range list {
		dir, copied := t.TempDir(), 0
		for _, file := range files {
			script, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			changed := script
			for _, place := range []string{",%s ", "--transport %s", `"transport":"%s"`} {
				changed = bytes.ReplaceAll(changed, fmt.Appendf(nil, place, "frames"), fmt.Appendf(nil, place, transport))
			}
			if bytes.Equal(changed, script) {
				continue
			}
			if copied++; !*everyTransport && copied%(2*len(list)) != turn {
				continue
			}
			if err := os.WriteFile(filepath.Join(dir, filepath.Base(file)), changed, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if copied < 5 {
			t.Errorf("%d scripts speak of frames, want at least 5", copied)
		}
		t.Run(transport, func(t *testing.T) {
			testscript.Run(t, testscript.Params{Dir: dir, RequireExplicitExec: true, Setup: findPorts, Condition: condition})
		})
	}
}
