package bootstrap

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// An authority signs certificates.
type authority struct {
	key         *ecdsa.PrivateKey
	certificate *x509.Certificate
	path        string // of its certificate
}

// newAuthority returns an authority whose certificate is in dir.
func newAuthority(t *testing.T, dir string) *authority {
	t.Helper()
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	a := &authority{path: filepath.Join(dir, "ca.pem")}
	a.key, a.certificate = a.sign(t, template, a.path)
	return a
}

// sign writes the certificate of a new key to path, signed by a, or by the key
// itself if a is none yet.
func (a *authority) sign(t *testing.T, template *x509.Certificate, path string) (*ecdsa.PrivateKey, *x509.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	parent, signer := template, key
	if a.certificate != nil {
		parent, signer = a.certificate, a.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	writePEM(t, path, "CERTIFICATE", der)
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return key, certificate
}

func writePEM(t *testing.T, path, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}

// identity returns an Identity signed by a that believes in believed.
func (a *authority) identity(t *testing.T, believed *authority, lifetime time.Duration) *Identity {
	t.Helper()
	dir := t.TempDir()
	certificate, path := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	key, _ := a.sign(t, &x509.Certificate{SerialNumber: big.NewInt(2), NotAfter: time.Now().Add(lifetime)}, certificate)
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	writePEM(t, path, "EC PRIVATE KEY", der)
	id, err := ReadIdentity(certificate, path, believed.path)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// Two ends with certificates talk if each believes the other's, and no others
// do.
func TestIdentity(t *testing.T) {
	ours, theirs := newAuthority(t, t.TempDir()), newAuthority(t, t.TempDir())
	good := ours.identity(t, ours, time.Hour)
	tests := []struct {
		name           string
		listens, dials *Identity
		want           string // in the error of who dials
	}{
		{"ours", good, ours.identity(t, ours, time.Hour), ""},
		{"a stranger dials", good, theirs.identity(t, ours, time.Hour), "bad certificate"},
		{"a stranger listens", theirs.identity(t, ours, time.Hour), good, "certificate signed by unknown authority"},
		{"nobody dials", good, nil, "certificate required"},
		{"nobody listens", nil, good, "certificate signed by unknown authority"},
		{"an old certificate dials", good, ours.identity(t, ours, -time.Hour), "bad certificate"},
		{"an old certificate", ours.identity(t, ours, -time.Hour), good, "certificate has expired"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l, err := (&Credentials{TLS: true, Identity: test.listens}).Listen("127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			accepted := make(chan error, 1)
			go func() {
				conn, _, err := l.Accept(t.Context())
				if err == nil {
					conn.Close()
				}
				accepted <- err
			}()
			conn, err := (&Credentials{TLS: true, Identity: test.dials}).Dial(t.Context(), l.Addr().String(), Hello{})
			switch {
			case test.want == "" && err == nil:
				conn.Close()
			case test.want == "" || err == nil || !strings.Contains(err.Error(), test.want):
				t.Errorf("got %v, want %q", err, test.want)
			}
			l.Close()
			if err := <-accepted; (err == nil) != (test.want == "") {
				t.Errorf("who listens: got %v", err)
			}
		})
	}
}

func TestReadIdentityFails(t *testing.T) {
	a := newAuthority(t, t.TempDir())
	absent := filepath.Join(t.TempDir(), "absent.pem")
	if _, err := ReadIdentity(absent, absent, a.path); err == nil || !strings.Contains(err.Error(), "absent.pem") {
		t.Errorf("got %v, want an error with the name of the file", err)
	}
	if _, err := ReadIdentity(a.path, a.path, a.path); err == nil || !strings.Contains(err.Error(), "private key") {
		t.Errorf("got %v, want an error about the key", err)
	}
}
