package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// accessFlags are how masters are reached that somebody else runs.
type accessFlags struct {
	user, passwordFile string
	ca, cert, key      string
}

func (f *accessFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.user, "user", "", "ACL user `name` on all masters; its password comes from --password-file")
	flags.StringVar(&f.passwordFile, "password-file", "", "`file` with the masters' password, instead of passwords in the URLs")
	flags.StringVar(&f.ca, "tls-ca", "", "`file` with the certificate authorities that rediss:// trusts (default the system's)")
	flags.StringVar(&f.cert, "tls-cert", "", "`file` with the client's certificate, for rediss://")
	flags.StringVar(&f.key, "tls-key", "", "`file` with the private key of --tls-cert")
	for _, name := range []string{"password-file", "tls-ca", "tls-cert", "tls-key"} {
		_ = cmd.MarkFlagFilename(name) // for the completion; the flag exists
	}
}

// pool is what the flags mean to the connections.
func (f *accessFlags) pool() ([]pool.Option, error) {
	var opts []pool.Option
	switch {
	case f.passwordFile != "":
		password, err := readPassword(f.passwordFile)
		if err != nil {
			return nil, usagef("--password-file: %w", err)
		}
		opts = append(opts, pool.WithAuth(f.user, password))
	case f.user != "":
		return nil, usagef("--user needs --password-file")
	}
	config, err := f.tlsConfig()
	if config != nil {
		opts = append(opts, pool.WithTLS(config))
	}
	return opts, err
}

// tlsConfig is what the flags mean to TLS; nil: nothing.
func (f *accessFlags) tlsConfig() (*tls.Config, error) {
	if f.ca == "" && f.cert == "" && f.key == "" {
		return nil, nil
	}
	return f.tls()
}

// maxPassword is far above any password; what is longer is another file.
const maxPassword = 4096

// readPassword reads a file of one line. Its errors do not repeat the line.
func readPassword(name string) (string, error) {
	file, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, maxPassword+1))
	if err != nil {
		return "", err
	}
	password := strings.TrimRight(string(text), "\r\n")
	switch {
	case password == "":
		return "", fmt.Errorf("%s is empty: want one line, the password", name)
	case len(text) > maxPassword, strings.ContainsAny(password, "\r\n"):
		return "", fmt.Errorf("%s has more than one line of at most %d bytes: want one line, the password", name, maxPassword)
	}
	return password, nil
}

func (f *accessFlags) tls() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if f.ca != "" {
		text, err := os.ReadFile(f.ca)
		if err != nil {
			return nil, usagef("--tls-ca: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, usagef("--tls-ca: %s holds no certificate: want PEM", f.ca)
		}
	}
	if (f.cert == "") != (f.key == "") {
		return nil, usagef("--tls-cert and --tls-key need each other")
	}
	if f.cert != "" {
		pair, err := tls.LoadX509KeyPair(f.cert, f.key)
		if err != nil {
			return nil, usagef("--tls-cert, --tls-key: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// open makes a client for the masters that the flags or the environment name.
func (f *accessFlags) open(cmd *cobra.Command, a *app, shared *sharedFlags, opts ...redlock.Option) (*redlock.Client, error) {
	urls, err := shared.namedMasters(cmd, a)
	if err != nil {
		return nil, err
	}
	return f.openURLs(urls, shared, opts...)
}

// openURLs makes a client for these masters.
func (f *accessFlags) openURLs(urls []string, shared *sharedFlags, opts ...redlock.Option) (*redlock.Client, error) {
	poolOpts, err := f.pool()
	if err != nil {
		return nil, err
	}
	opts = append(shared.fleetOptions(""), append(opts[:len(opts):len(opts)], redlock.WithPool(poolOpts...))...)
	client, err := redlock.Open(urls, opts...)
	if err != nil {
		return nil, inFlags(err)
	}
	return client, nil
}

// connectBound is how long masters have to accept a connection, TLS and AUTH
// included, before they are asked: as long as one dial may take.
const connectBound = 2 * time.Second

// awaitMasters waits until enough is known of who is connected and who is not,
// at most for connectBound. A call waits for a connection no longer than for an
// answer, which is less than a TLS handshake may take.
func awaitMasters(ctx context.Context, c *redlock.Client, enough func(up, unknown, need int) bool) {
	bound := time.NewTimer(connectBound)
	defer bound.Stop()
	poll := time.NewTicker(2 * time.Millisecond)
	defer poll.Stop()
	for !isKnown(ctx, c, enough) {
		select {
		case <-poll.C:
		case <-bound.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// isKnown reports whether enough is known now.
func isKnown(ctx context.Context, c *redlock.Client, enough func(up, unknown, need int) bool) bool {
	reports := c.Masters(ctx)
	up, unknown := 0, 0
	for _, m := range reports {
		switch {
		case m.Connected:
			up++
		case errors.Is(m.Err, pipeline.ErrConnecting):
			unknown++
		}
	}
	return enough(up, unknown, quorum.Need(len(reports)))
}

// optionFlags are the flags behind the library's options.
var optionFlags = strings.NewReplacer(
	"WithTTL: ", "--ttl ", "WithMaxTTL: ", "--max-ttl ", "WithOwner: ", "--owner ", "WithAuth: ", "--user: ",
	"WithTLS is given", "--tls-ca or --tls-cert is given",
	"above WithMaxTTL", "above --max-ttl", "WithGuard: ", "--guard: ", "WithMovedTo: ", "--moved-to: ",
)

// inFlags is an error of the library about its arguments, in the words of the
// command.
func inFlags(err error) error {
	text := err.Error()
	for _, room := range []string{"redlock: ", "fleets: ", "pool: ", "lock: "} {
		text = strings.TrimPrefix(text, room)
	}
	text = strings.TrimSuffix(text, ": "+errors.ErrUnsupported.Error())
	return &usageError{errors.New(optionFlags.Replace(text))}
}
