package app

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"testing"

	"github.com/redquorum/redquorum/cmd/internal/testutil"
	"github.com/redquorum/redquorum/internal/redistest"
)

// Each handshake checks the server's certificate against the authorities in the file at that time.
func TestAuthoritiesAreReadAgainAtEachHandshake(t *testing.T) {
	t.Parallel()
	var pems [2][]byte
	for i := range pems {
		a, err := redistest.NewAuthority()
		if err != nil {
			t.Fatal(err)
		}
		pems[i] = a.PEM()
	}
	block, _ := pem.Decode(pems[1])
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	file := testutil.File(t, string(pems[0]))
	config, err := (&AccessFlags{ca: file}).TLSConfig()
	if err != nil {
		t.Fatal(err)
	}
	state := tls.ConnectionState{PeerCertificates: []*x509.Certificate{cert}}
	if err := config.VerifyConnection(state); !errors.As(err, new(*tls.CertificateVerificationError)) {
		t.Errorf("of an authority that is not trusted: %v", err)
	}
	if err := os.WriteFile(file, pems[1], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := config.VerifyConnection(state); err != nil {
		t.Errorf("of one that is trusted by now: %v", err)
	}
	state.ServerName = "other.example"
	if err := config.VerifyConnection(state); err == nil {
		t.Error("the name of the server is not looked at")
	}
}
