package redistest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"
)

// Authority is a new certificate authority for servers that use TLS. Servers of one cluster share
// one. It is immutable and safe for concurrent use.
type Authority struct {
	cert   *x509.Certificate
	key    *ecdsa.PrivateKey
	pem    []byte
	client tls.Certificate
}

// Tests move clocks by hours, so the certificates are valid from well before now until well after.
const (
	validBefore = 48 * time.Hour
	validAfter  = 30 * 24 * time.Hour
)

// NewAuthority makes an authority with a fresh key. It keeps nothing on disk.
func NewAuthority() (_ *Authority, err error) {
	a := &Authority{}
	if a.pem, _, err = a.issue("redistest authority"); err != nil {
		return nil, err
	}
	certPEM, keyPEM, err := a.issue("redistest client")
	if err != nil {
		return nil, err
	}
	if a.client, err = tls.X509KeyPair(certPEM, keyPEM); err != nil {
		return nil, fmt.Errorf("redistest: certificate of the client: %w", err)
	}
	return a, nil
}

// PEM returns the authority's certificate, for clients that read a CA file.
func (a *Authority) PEM() []byte { return append([]byte(nil), a.pem...) }

// Pool returns a pool that trusts this authority and no other.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// ClientConfig returns a configuration for clients: it trusts this authority
// alone, and shows a certificate of its own to a server that asks for one. The
// caller owns it.
func (a *Authority) ClientConfig() *tls.Config {
	return &tls.Config{
		MinVersion:   tls.VersionTLS12,
		RootCAs:      a.Pool(),
		Certificates: []tls.Certificate{a.client},
	}
}

// issue makes a certificate for a process on this machine, as server or client; the first one
// is the authority's own.
func (a *Authority) issue(name string) (certPEM, keyPEM []byte, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("redistest: certificate of the %s: %w", name, err)
		}
	}()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Now().Add(-validBefore),
		NotAfter:     time.Now().Add(validAfter),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
		DNSNames:     []string{"localhost"},
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return nil, nil, err
	}
	if a.cert == nil {
		a.key = key
		if a.cert, err = x509.ParseCertificate(der); err != nil {
			return nil, nil, err
		}
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), nil
}
