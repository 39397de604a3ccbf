package tensor

import "golang.org/x/sys/unix"

// noReserve has the system keep no memory ready for what is never touched.
const noReserve = unix.MAP_NORESERVE
