package app

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/redquorum/redquorum/pool"
)

// AccessFlags are the flags for access to masters that somebody else runs: ACL user, password, TLS.
type AccessFlags struct {
	User          string // of the ACL
	passwordFile  string
	ca, cert, key string
}

func (f *AccessFlags) Register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.User, "user", "", "ACL user `name` on all masters; its password comes from --password-file")
	flags.StringVar(&f.passwordFile, "password-file", "",
		"`file` with the masters' password, instead of passwords in the URLs")
	flags.StringVar(&f.ca, "tls-ca", "",
		"`file` with the certificate authorities that rediss:// trusts (default the system's)")
	flags.StringVar(&f.cert, "tls-cert", "", "`file` with the client's certificate, for rediss://")
	flags.StringVar(&f.key, "tls-key", "", "`file` with the private key of --tls-cert")
	for _, name := range []string{"password-file", "tls-ca", "tls-cert", "tls-key"} {
		_ = cmd.MarkFlagFilename(name) // for the completion; the flag exists
	}
}

// Pool returns the flags as options for the connections.
func (f *AccessFlags) Pool(ctx context.Context) ([]pool.Option, error) {
	var opts []pool.Option
	switch {
	case f.passwordFile != "":
		once, err := readPassword(ctx, f.passwordFile)
		if err != nil {
			return nil, Usagef("--password-file: %w", err)
		}
		info, err := os.Stat(f.passwordFile)
		pipe := err != nil || !info.Mode().IsRegular()
		// The file is read again at each dial: passwords are changed while commands run. A pipe gives it once.
		opts = append(opts, pool.WithCredentials(func(ctx context.Context) (string, string, error) {
			if pipe {
				return f.User, once, nil
			}
			password, err := readPassword(ctx, f.passwordFile)
			return f.User, password, err
		}))
	case f.User != "":
		return nil, Usagef("--user needs --password-file")
	}
	config, err := f.TLSConfig()
	if config != nil {
		opts = append(opts, pool.WithTLS(config))
	}
	return opts, err
}

// maxPassword, in bytes, is far above any password: a longer file is not a password file.
const maxPassword = 4096

// readPassword reads a file of one line. Its errors do not repeat the line.
func readPassword(ctx context.Context, name string) (string, error) {
	text, err := readFile(ctx, name, maxPassword+1)
	if err != nil {
		return "", err
	}
	password := strings.TrimRight(string(text), "\r\n")
	switch {
	case password == "":
		return "", fmt.Errorf("%s is empty: want one line, the password", name)
	case len(text) > maxPassword, strings.ContainsAny(password, "\r\n"):
		return "", fmt.Errorf("%s has more than one line of at most %d bytes: "+
			"want one line, the password", name, maxPassword)
	}
	return password, nil
}

// OpenToAll returns the files with a password that every user of this machine may read: the
// file of --password-file, and the configuration file if its URLs have a password.
func (f *AccessFlags) OpenToAll(ctx context.Context, config string) (names []string) {
	if isOpenToAll(f.passwordFile) {
		names = append(names, f.passwordFile)
	}
	if !isOpenToAll(config) {
		return names
	}
	settings, _ := ReadConfig(ctx, config) // it has succeeded before
	for _, s := range settings {
		if s.name == "masters" && strings.Contains(s.value, "@") {
			names = append(names, config)
		}
	}
	return names
}

// isOpenToAll reports whether everybody may read a file: mode o+r, and o+x on all its directories.
func isOpenToAll(name string) bool {
	name, err := filepath.Abs(name)
	info, statErr := os.Stat(name)
	open := runtime.GOOS != "windows" && err == nil && statErr == nil &&
		info.Mode().IsRegular() && info.Mode()&0o004 != 0
	for dir := filepath.Dir(name); open; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		open = err == nil && info.Mode()&0o001 != 0
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return open
}

// TLSConfig returns the TLS configuration that the flags ask for; nil: none. It reads its files
// again at each handshake, because certificates are replaced while commands run.
func (f *AccessFlags) TLSConfig() (*tls.Config, error) {
	if f.ca == "" && f.cert == "" && f.key == "" {
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if f.ca != "" {
		if _, err := readAuthorities(f.ca); err != nil {
			return nil, Usagef("--tls-ca: %w", err)
		}
		config.InsecureSkipVerify = true //nolint:gosec // VerifyConnection does it, by the file as it is then
		config.VerifyConnection = func(state tls.ConnectionState) error {
			roots, err := readAuthorities(f.ca)
			if err != nil {
				return err
			}
			return verify(state, roots)
		}
	}
	if (f.cert == "") != (f.key == "") {
		return nil, Usagef("--tls-cert and --tls-key need each other")
	}
	if f.cert != "" {
		if _, err := tls.LoadX509KeyPair(f.cert, f.key); err != nil {
			return nil, Usagef("--tls-cert, --tls-key: %w", err)
		}
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(f.cert, f.key)
			return &pair, err
		}
	}
	return config, nil
}

func readAuthorities(name string) (*x509.CertPool, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s holds no certificate: want PEM", name)
	}
	return roots, nil
}

// verify checks a server's certificates in the same way as package tls.
func verify(state tls.ConnectionState, roots *x509.CertPool) error {
	between := x509.NewCertPool()
	for _, c := range state.PeerCertificates[1:] {
		between.AddCert(c)
	}
	_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{
		DNSName:       state.ServerName,
		Roots:         roots,
		Intermediates: between,
	})
	if err != nil {
		return &tls.CertificateVerificationError{UnverifiedCertificates: state.PeerCertificates, Err: err}
	}
	return nil
}

// ConnectBound is how long a master may take to accept a connection, TLS and AUTH included.
// It is below two seconds: a command prints something within that time.
const ConnectBound = 1500 * time.Millisecond

// optionFlags replaces the names of the library's options by those of the flags.
var optionFlags = strings.NewReplacer(
	"WithTTL: ", "--ttl ", "WithMaxTTL: ", "--max-ttl ", "WithOwner: ", "--owner ", "WithAuth: ", "--user: ",
	"WithTLS is given", "--tls-ca or --tls-cert is given",
	"above WithMaxTTL", "above --max-ttl", "WithGuard: ", "--guard: ",
)

// InFlags turns an error of the library about its arguments into a usage error about the flags.
func InFlags(err error) error {
	text := err.Error()
	for _, room := range []string{"redlock: ", "pool: ", "lock: "} {
		text = strings.TrimPrefix(text, room)
	}
	text = strings.TrimSuffix(text, ": "+errors.ErrUnsupported.Error())
	return &UsageError{errors.New(optionFlags.Replace(text))}
}
