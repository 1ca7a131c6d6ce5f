package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

var errUsage = errors.New("usage: release next | modules | check | prepare VERSION DATE | notes VERSION | pack VERSION DIR")

func main() {
	root, err := os.Getwd()
	if err == nil {
		err = run(root, os.Args[1:], os.Stdout)
	}
	if errors.Is(err, errUsage) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// run does what args say in the repository at root.
func run(root string, args []string, out io.Writer) error {
	if len(args) == 0 {
		return errUsage
	}
	verb, args := args[0], args[1:]
	switch {
	case verb == "next" && len(args) == 0:
		return next(root, out)
	case verb == "modules" && len(args) == 0:
		return list(root, out)
	case verb == "check" && len(args) == 0:
		return check(root)
	case verb == "prepare" && len(args) == 2:
		return prepare(root, args[0], args[1])
	case verb == "notes" && len(args) == 1:
		return notes(root, args[0], out)
	case verb == "pack" && len(args) == 2:
		return pack(root, args[0], args[1], out)
	}
	return errUsage
}

// next prints "VERSION unreleased" or "VERSION released".
func next(root string, out io.Writer) error {
	log, err := readChangelog(root)
	if err != nil {
		return err
	}
	newest, err := log.newest()
	if err != nil {
		return err
	}
	state := "released"
	if newest.unreleased() {
		state = "unreleased"
	}
	_, err = fmt.Fprintf(out, "v%s %s\n", newest.version, state)
	return err
}

// list prints the directories of the nested modules that users import.
func list(root string, out io.Writer) error {
	modules, err := published(root)
	if err != nil {
		return err
	}
	for _, m := range modules {
		if m.dir != "" {
			fmt.Fprintln(out, m.dir)
		}
	}
	return nil
}

func notes(root, version string, out io.Writer) error {
	log, err := readChangelog(root)
	if err != nil {
		return err
	}
	text, err := log.notes(version)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, text)
	return err
}

// prepare makes the tree what the tags of version will show. Nothing is
// committed here.
func prepare(root, version, date string) error {
	if err := check(root); err != nil {
		return err
	}
	log, err := readChangelog(root)
	if err != nil {
		return err
	}
	dated, err := log.dated(version, date)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(root, changelogFile), []byte(dated), 0o644); err != nil {
		return err
	}
	return requireRoot(root, version)
}
