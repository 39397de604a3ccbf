package tcp

import "golang.org/x/sys/unix"

// A readySet asks the system which of many sockets have something. That is work for those
// that have, and not for the others.
type readySet struct{ at int }

func newReadySet() (*readySet, error) {
	at, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	return &readySet{at}, err
}

// add makes a socket one of the set, by the rank at its other end.
func (r *readySet) add(fd, rank int) error {
	return unix.EpollCtl(r.at, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(rank)})
}

// remove removes a socket, which may have been removed before.
func (r *readySet) remove(fd int) { unix.EpollCtl(r.at, unix.EPOLL_CTL_DEL, fd, nil) }

// list adds to a list what is ready when one of the sockets has something.
func (r *readySet) list(l *pollList) { l.add(r.at, true, false) }

// ask appends the ranks of sockets that have something, as many as ranks has room for. The
// next call begins with others.
func (r *readySet) ask(ranks []int) []int {
	var events [readyRooms]unix.EpollEvent
	n, err := unix.EpollWait(r.at, events[:cap(ranks)-len(ranks)], 0)
	if err != nil { // a signal came; there will be another look
		return ranks
	}
	for _, e := range events[:n] {
		ranks = append(ranks, int(e.Fd))
	}
	return ranks
}

func (r *readySet) close() { unix.Close(r.at) }
