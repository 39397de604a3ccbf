package launch

import "runtime"

// A Transport is a way in which ranks talk, as --transport names it.
type Transport struct {
	Name      string
	Processes bool   // ranks are processes, and not goroutines of one
	Hosts     bool   // which may be on several hosts
	Linux     bool   // there is none elsewhere
	Doc       string // who talks, and by what
}

// Names of the transports of processes.
const (
	SharedMemory = "shm"
	Sockets      = "tcp"
	Automatic    = "auto" // shared memory inside a host, sockets between hosts
)

// table is every transport, of whatever system. Those of goroutines are package
// runtime's, and stand here to be told of.
var table = []Transport{
	{"inproc", false, false, false, "goroutines that read each other's memory (the default)"},
	{"frames", false, false, false, "goroutines that exchange encoded frames, for tests"},
	{SharedMemory, true, false, true, "processes of this host over shared memory"},
	{Sockets, true, true, false, "processes over sockets; without a token on this host alone"},
	{Automatic, true, true, true, "shm inside a host, tcp between hosts (the default of several)"},
}

// Transports lists the transports of processes that there are on this system.
var Transports = transportsOn(runtime.GOOS)

func transportsOn(system string) (names []string) {
	for _, t := range table {
		if t.Processes && system != "windows" && (system == "linux" || !t.Linux) {
			names = append(names, t.Name)
		}
	}
	return names
}

// Describe returns the transport called name; one without a Doc if there is none.
func Describe(name string) Transport {
	for _, t := range table {
		if t.Name == name {
			return t
		}
	}
	return Transport{Name: name}
}

// AcrossHosts lists the transports of ranks on several hosts.
func AcrossHosts() []string {
	var names []string
	for _, t := range table {
		if t.Hosts {
			names = append(names, t.Name)
		}
	}
	return names
}
