package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

const changelogFile = "CHANGELOG.md"

// A section's heading is "## 0.1.0 (unreleased)" or "## 0.1.0 (2026-11-23)".
var headingLine = regexp.MustCompile(`(?m)^## (\d+\.\d+\.\d+\S*) \((unreleased|\d{4}-\d\d-\d\d)\)$`)

var isoDate = regexp.MustCompile(`^\d{4}-\d\d-\d\d$`)

// A changelog is the text of CHANGELOG.md, newest section first.
type changelog struct {
	text     string
	sections []section
}

// A section tells of one version.
type section struct {
	heading string
	version string // without the v
	date    string // or "unreleased"
	body    string
}

func (s section) unreleased() bool { return s.date == "unreleased" }

func readChangelog(root string) (changelog, error) {
	text, err := os.ReadFile(filepath.Join(root, changelogFile))
	if err != nil {
		return changelog{}, err
	}
	return parseChangelog(string(text)), nil
}

func parseChangelog(text string) changelog {
	c := changelog{text: text}
	found := headingLine.FindAllStringSubmatchIndex(text, -1)
	for i, at := range found {
		end := len(text)
		if i+1 < len(found) {
			end = found[i+1][0]
		}
		c.sections = append(c.sections, section{
			heading: text[at[0]:at[1]],
			version: text[at[2]:at[3]],
			date:    text[at[4]:at[5]],
			body:    strings.TrimSpace(text[at[1]:end]),
		})
	}
	return c
}

func (c changelog) newest() (section, error) {
	if len(c.sections) == 0 {
		return section{}, fmt.Errorf("%s has no section like \"## 0.1.0 (unreleased)\"", changelogFile)
	}
	return c.sections[0], nil
}

// A link into the repository, as the changelog has it.
var repositoryLink = regexp.MustCompile(`\]\(([\w./-]+\.md)`)

// notes is the section of version without its heading, for a page elsewhere:
// links go to the files as they are at the tag.
func (c changelog) notes(version string) (string, error) {
	for _, s := range c.sections {
		if "v"+s.version == version {
			return repositoryLink.ReplaceAllString(s.body, "](https://"+rootPath+"/blob/"+version+"/$1"), nil
		}
	}
	return "", fmt.Errorf("%s has no section for %s", changelogFile, version)
}

// dated is the text with the date in the heading of version, which has to be the
// newest section, unreleased and not empty.
func (c changelog) dated(version, date string) (string, error) {
	newest, err := c.newest()
	if err != nil {
		return "", err
	}
	switch {
	case "v"+newest.version != version:
		return "", fmt.Errorf("the newest section of %s is for v%s, not for %s", changelogFile, newest.version, version)
	case !newest.unreleased():
		return "", fmt.Errorf("%s says that %s was released on %s", changelogFile, version, newest.date)
	case newest.body == "":
		return "", fmt.Errorf("the section of %s in %s is empty", version, changelogFile)
	case !isoDate.MatchString(date):
		return "", fmt.Errorf("date %q: want one like 2026-11-23", date)
	}
	heading := strings.Replace(newest.heading, "unreleased", date, 1)
	return strings.Replace(c.text, newest.heading, heading, 1), nil
}
