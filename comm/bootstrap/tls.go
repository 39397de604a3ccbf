package bootstrap

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"time"
)

// An Identity is the certificate that one end of a connection shows the other on TLS,
// and whom it believes. Both ends show a certificate, and neither talks to one
// for which no authority of its own vouches. The names in certificates count
// for nothing: ranks know each other by addresses that come and go.
type Identity struct {
	Certificate tls.Certificate
	Authorities *x509.CertPool
}

// ReadIdentity reads an Identity from files in PEM: a certificate, behind which
// those may stand that lead from it to an authority; its private key; and the
// certificates of the authorities.
func ReadIdentity(certificate, key, authorities string) (*Identity, error) {
	own, err := tls.LoadX509KeyPair(certificate, key)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(authorities)
	if err != nil {
		return nil, err
	}
	id := &Identity{own, x509.NewCertPool()}
	if !id.Authorities.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s: got no certificate in PEM, want one or more", authorities)
	}
	return id, nil
}

// verify checks that an authority vouches for the other end.
func (id *Identity) verify(state tls.ConnectionState) error {
	if len(state.PeerCertificates) == 0 {
		return errors.New("it shows no certificate")
	}
	between := x509.NewCertPool()
	for _, c := range state.PeerCertificates[1:] {
		between.AddCert(c)
	}
	_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{
		Roots:         id.Authorities,
		Intermediates: between,
		KeyUsages:     []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
	})
	return err
}

// client and server make a connection one of TLS 1.3. Without an Identity,
// neither checks a certificate: the proofs of the handshake are bound to the
// connection.

func (c *Credentials) client(raw net.Conn) *tls.Conn {
	config := &tls.Config{MinVersion: tls.VersionTLS13, InsecureSkipVerify: true}
	if c.Identity != nil {
		config.Certificates = []tls.Certificate{c.Identity.Certificate}
		config.VerifyConnection = c.Identity.verify
	}
	return tls.Client(raw, config)
}

func (l *Listener) server(raw net.Conn) *tls.Conn {
	config := &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{l.certificate}}
	if id := l.credentials.Identity; id != nil {
		config.ClientAuth = tls.RequireAnyClientCert
		config.VerifyConnection = id.verify
	}
	return tls.Server(raw, config)
}

// certificate returns the certificate of a listener.
func (c *Credentials) certificate() (tls.Certificate, error) {
	if c.Identity != nil {
		return c.Identity.Certificate, nil
	}
	return newCertificate()
}

// newCertificate returns a certificate that nobody vouches for.
func newCertificate() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("certificate: %w", err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(365 * 24 * time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("certificate: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}
