// Init is the first process of a Linux that is there for one program: /program, with the lines of
// /arguments, in the folder /work. It prints a line before what the program prints, and one behind that with
// the status that it ends with; then it ends the machine.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// tcsbrk is the request TCSBRK of Linux, which package syscall lacks.
const tcsbrk = 0x5409

func main() {
	for _, m := range [][2]string{{"proc", "/proc"}, {"sysfs", "/sys"}, {"devtmpfs", "/dev"}} {
		if err := syscall.Mount(m[0], m[1], m[0], 0, ""); err != nil {
			fmt.Println(m[1]+":", err)
		}
	}
	fmt.Println("begins")
	fmt.Println("exits with", run())
	syscall.Syscall(syscall.SYS_IOCTL, os.Stdout.Fd(), tcsbrk, 1) // waits until all is sent
	syscall.Reboot(syscall.LINUX_REBOOT_CMD_POWER_OFF)
}

// run returns the status with which the program ends.
func run() int {
	text, err := os.ReadFile("/arguments")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	cmd := exec.Command("/program", strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/work", os.Stdout, os.Stdout
	cmd.Env = []string{"HOME=/tmp", "TMPDIR=/tmp"}
	err = cmd.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.Exited() {
		return exit.ExitCode()
	} else if err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}
