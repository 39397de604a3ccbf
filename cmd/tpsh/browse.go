package main

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
)

// browse opens a file in the user's browser. It fails where there is none, or nobody to
// look at it.
func browse(path string) error {
	var command []string
	switch runtime.GOOS {
	case "darwin":
		command = []string{"open", path}
	case "windows":
		command = []string{"rundll32", "url.dll,FileProtocolHandler", path}
	default:
		if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
			return errors.New("no display")
		}
		command = []string{"xdg-open", path}
	}
	cmd := exec.Command(command[0], command[1:]...)
	if err := cmd.Start(); err != nil {
		return err
	}
	go cmd.Wait() // so that no dead process is left
	return nil
}
