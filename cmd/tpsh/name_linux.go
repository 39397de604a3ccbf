package main

import "os"

// nameProcess has ps and top call this process name, which the kernel has called
// after the link that it was started by.
func nameProcess(name string) { os.WriteFile("/proc/self/comm", []byte(name), 0) }
