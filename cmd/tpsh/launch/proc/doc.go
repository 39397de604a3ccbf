// Package proc starts processes of this machine, and learns from the kernel
// what becomes of them: at once, without asking them. It knows nothing of what
// they do.
//
// All processes of a Group end with it, and with the process that made it,
// whatever ends that (where the kernel can see to it: on Linux). Each leads a
// process group of its own, so that an interrupt from the terminal is not for
// them.
//
//	g := proc.NewGroup(0)
//	defer g.Close()
//	p, err := g.Start(proc.Command{Path: "/usr/bin/sleep", Args: []string{"sleep", "9"}})
//	...
//	<-p.Done()
//	fmt.Println(p.Cause()) // exited with status 0
package proc
