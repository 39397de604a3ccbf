package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"
	"tpsh/cmd/tpsh/launch/launchtest"
)

// signed writes a certificate of a new key, and the key, into dir. It is signed
// by parent's key, or by its own if that is nil.
func signed(t *testing.T, dir, name string, parent *x509.Certificate, signer *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: parent == nil, BasicConstraintsValid: true}
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range []*pem.Block{{Type: "CERTIFICATE", Bytes: der}, {Type: "EC PRIVATE KEY", Bytes: secret}} {
		suffix := map[string]string{"CERTIFICATE": ".pem", "EC PRIVATE KEY": ".key"}[block.Type]
		if err := os.WriteFile(filepath.Join(dir, name+suffix), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return certificate, key
}

// Nodes with certificates of one authority run a job, workers included; one of
// another authority is turned away.
func TestNodesIdentity(t *testing.T) {
	dir := t.TempDir()
	ours, key := signed(t, dir, "ours", nil, nil)
	theirs, other := signed(t, dir, "theirs", nil, nil)
	signed(t, dir, "zero", ours, key)
	signed(t, dir, "one", ours, key)
	signed(t, dir, "stranger", theirs, other)
	script := writeScript(t, "print(all_reduce(ones(1)).item())\n")
	in := func(name string) string { return filepath.Join(dir, name) }
	start := func(node, at, name string, more ...string) *process {
		return startProcess(t, append([]string{"run", "--nnodes", "2", "--node-rank", node, "--rdzv", at, "--nproc-per-node", "2",
			"--tls", "--tls-cert", in(name + ".pem"), "--tls-key", in(name + ".key"), "--tls-ca", in("ours.pem"), script}, more...)...)
	}
	for _, transport := range []string{"tcp", "auto"} {
		at := launchtest.FreeAddress(t)
		one := start("1", at, "one", "--transport", transport)
		zero := start("0", at, "zero", "--transport", transport)
		if got := zero.line(t); got != "4.0" {
			t.Errorf("%s: got %q, want 4.0", transport, got)
		}
		zero.end(t, 0, nil)
		one.end(t, 0, nil)
	}
	at := launchtest.FreeAddress(t)
	zero := start("0", at, "zero", "--rdzv-timeout", "1s")
	one := start("1", at, "stranger")
	one.end(t, 3, nil)
	zero.end(t, 3, nil)
	one.wants(t, "bad certificate")
	zero.wants(t, "turned away 127.0.0.1:", ": TLS: x509: certificate signed by unknown authority")
}
