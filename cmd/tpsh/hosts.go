package main

import (
	"bytes"
	"context"
	"flag"
	"net"
	"os"
	"strings"
	"time"

	"tpsh/cmd/tpsh/launch"
	"tpsh/cmd/tpsh/launch/schedenv"
)

// hosts are the flags about jobs on several hosts.
type hosts struct {
	nodes, node, perNode int
	rdzv, tokenFile      string
	tls                  bool
	identity             launch.IdentityFiles
	peerTimeout          time.Duration
	rdzvTimeout          time.Duration
}

func (h *hosts) declare(fs *flag.FlagSet) {
	fs.IntVar(&h.nodes, "nnodes", 1, "run on `K` nodes: start the command on each")
	fs.IntVar(&h.node, "node-rank", -1, "this is node `I`, from 0, of --nnodes (default: JOB_COMPLETION_INDEX)")
	fs.IntVar(&h.perNode, "nproc-per-node", 0, "run `N` ranks on this node (default: its part of -n)")
	fs.StringVar(&h.rdzv, "rdzv", "", "let node 0 listen at `HOST:PORT`, which all nodes reach")
	fs.DurationVar(&h.rdzvTimeout, "rdzv-timeout", launch.DefaultGatherTimeout, "wait for the other nodes for `D`")
	fs.StringVar(&h.tokenFile, "token-file", "", "read from `FILE` what all nodes know and nobody else (default: TPSH_TOKEN)")
	fs.BoolVar(&h.tls, "tls", false, "encrypt what ranks of tcp send each other")
	fs.StringVar(&h.identity.Certificate, "tls-cert", "", "with --tls, show the certificate in `FILE` (PEM)")
	fs.StringVar(&h.identity.Key, "tls-key", "", "the private key of --tls-cert, in `FILE` (PEM)")
	fs.StringVar(&h.identity.Authorities, "tls-ca", "", "believe only who shows a certificate of an authority in `FILE` (PEM)")
	fs.DurationVar(&h.peerTimeout, "peer-timeout", launch.DefaultPeerTimeout, "take a rank of another host for dead when it is silent for `D`")
}

// A wish is what the command line says of the ranks, as far as it does.
type wish struct {
	ranks                      int    // of the job
	transport                  string // its name
	ranksGiven, transportGiven bool   // whether the flags -n and --transport were given
}

// options returns what the job runs on: hosts that the flags name, those that
// the environment names, or this one alone.
func (h *hosts) options(w wish, env schedenv.Env) (o launch.Options, err error) {
	o = launch.Options{Transport: w.transport, Ranks: w.ranks, Nodes: h.nodes, Rendezvous: h.rdzv, Version: version(), TLS: h.tls, PeerTimeout: h.peerTimeout, GatherTimeout: h.rdzvTimeout}
	if err := h.checkFlags(); err != nil {
		return o, err
	}
	if h.identity != (launch.IdentityFiles{}) {
		o.Identity = &h.identity
	}
	if o.Token, err = h.token(env); err != nil {
		return o, err
	}
	var place *schedenv.Place
	if h.nodes == 1 && (!w.transportGiven || launch.Describe(w.transport).Hosts) {
		if place, err = schedenv.Find(env); err != nil {
			return o, usageError{err}
		}
	}
	switch {
	case place != nil && place.Size > 1:
		o, err = h.placed(o, w, place)
	case place != nil && !w.ranksGiven && h.perNode == 0:
		o.Ranks = place.Size
	case h.nodes > 1:
		o, err = h.named(o, w, env)
	case h.perNode > 0:
		o.Ranks = h.perNode
	}
	if err == nil && o.Nodes > 1 {
		o.Scratch = newScratch()
		err = checkNodes(&o, w)
	}
	return o, err
}

// checkFlags checks the flags each by itself.
func (h *hosts) checkFlags() error {
	switch {
	case h.nodes < 1 || h.nodes > maxRanks:
		return usagef("for flag --nnodes: got %d, want a number of nodes from 1 to %d", h.nodes, maxRanks)
	case h.perNode < 0 || h.perNode > maxRanks:
		return usagef("for flag --nproc-per-node: got %d, want a number of ranks from 1 to %d", h.perNode, maxRanks)
	case h.peerTimeout < time.Second:
		return usagef("for flag --peer-timeout: got %v, want at least 1s", h.peerTimeout)
	case h.rdzvTimeout <= 0:
		return usagef("for flag --rdzv-timeout: got %v, want a duration above 0", h.rdzvTimeout)
	}
	return h.checkIdentity()
}

// checkIdentity checks that the flags about certificates are there together.
func (h *hosts) checkIdentity() error {
	given := 0
	for _, file := range []string{h.identity.Certificate, h.identity.Key, h.identity.Authorities} {
		if file != "" {
			given++
		}
	}
	switch {
	case given == 0:
		return nil
	case given < 3:
		return usagef("for flag --tls-cert: got %d of --tls-cert, --tls-key and --tls-ca, want all three (both ends show a certificate, and check the other's)", given)
	case !h.tls:
		return usagef("for flag --tls-cert: got a certificate, want --tls with it")
	}
	if err := h.identity.Check(); err != nil {
		return usagef("for flag --tls-cert: %v", err)
	}
	return nil
}

// token returns what the nodes of the job know, nil for nothing.
func (h *hosts) token(env schedenv.Env) ([]byte, error) {
	if h.tokenFile == "" {
		token, _ := env(launch.TokenVariable)
		if token == "" {
			return nil, nil
		}
		return []byte(token), nil
	}
	token, err := os.ReadFile(h.tokenFile)
	if err != nil {
		return nil, filef("for flag --token-file: %w", err)
	}
	if token = bytes.TrimSpace(token); len(token) == 0 {
		return nil, usagef("for flag --token-file: got %q, which is empty, want a file with a token", h.tokenFile)
	}
	return token, nil
}

// onNodes carries out a command on several nodes: in node 0 it calls lead with
// the nodes, and returns its error; in the others it starts ranks for node 0,
// and returns the exit status of that.
func onNodes(ctx context.Context, o launch.Options, lead func(*launch.Cluster) error) error {
	if o.Node > 0 {
		return follow(ctx, o)
	}
	defer os.RemoveAll(o.Scratch)
	c, err := launch.Gather(ctx, o)
	if err != nil {
		return notStarted(ctx, err)
	}
	err = lead(c)
	c.Close(exitStatus(err))
	return err
}

// placed returns the options of one process of those that a launcher started,
// which becomes one rank, or as many as --nproc-per-node says.
func (h *hosts) placed(o launch.Options, w wish, p *schedenv.Place) (launch.Options, error) {
	o.Nodes, o.Node, o.Ranks = p.Size, p.Rank, max(1, h.perNode)
	switch {
	case w.ranksGiven && h.perNode > 0 && w.ranks != p.Size*o.Ranks:
		return o, usagef("for flag -n: got %d, want %d (%s has started %d, each with %d ranks by --nproc-per-node)", w.ranks, p.Size*o.Ranks, p.From, p.Size, o.Ranks)
	case w.ranksGiven && w.ranks != p.Size*o.Ranks:
		return o, usagef("for flag -n: got %d, want %d (as many as %s has started)", w.ranks, p.Size, p.From)
	}
	if o.Rendezvous == "" {
		o.Rendezvous = p.Rendezvous
	}
	return o, nil
}

// named returns the options of one of the nodes that the flags speak of.
func (h *hosts) named(o launch.Options, w wish, env schedenv.Env) (launch.Options, error) {
	o.Node = h.node
	if o.Node < 0 {
		index, err := schedenv.Index(env)
		if err != nil {
			return o, usageError{err}
		}
		if o.Node = index; index < 0 {
			return o, usagef("for flag --node-rank: got nothing, want the number of this node, from 0 to %d", h.nodes-1)
		}
	}
	switch {
	case o.Node >= h.nodes:
		return o, usagef("for flag --node-rank: got %d, want the number of this node, from 0 to %d", o.Node, h.nodes-1)
	case h.perNode > 0:
		o.Ranks = h.perNode
	case w.ranksGiven && w.ranks%h.nodes != 0:
		return o, usagef("for flag -n: got %d, want a multiple of the %d nodes, or --nproc-per-node", w.ranks, h.nodes)
	case w.ranksGiven:
		o.Ranks = w.ranks / h.nodes
	}
	return o, nil
}

// checkNodes checks what a job on several nodes needs, and chooses its
// transport if that was not asked for.
func checkNodes(o *launch.Options, w wish) error {
	if !w.transportGiven {
		o.Transport = launch.Automatic
	}
	if !launch.Describe(o.Transport).Hosts {
		return usagef("for flag --transport: got %q, want %s (there are %d nodes)", o.Transport, strings.Join(launch.AcrossHosts(), " or "), o.Nodes)
	}
	host, port, err := net.SplitHostPort(o.Rendezvous)
	if err != nil || host == "" || port == "" || port == "0" {
		return usagef("for flag --rdzv: got %q, want HOST:PORT (where node 0 listens, and all nodes reach it)", o.Rendezvous)
	}
	if o.Node == 0 && o.Token == nil && !loopback(host) {
		return usagef("for flag --token-file: got nothing, want a file, or TPSH_TOKEN (%s is no loopback address, and strangers are not to join)", host)
	}
	return nil
}

// loopback reports whether a host is this one, which no other can reach by
// that name.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
