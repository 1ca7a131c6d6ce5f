# Reads the output of `go test -json`. Prints each package's closing line as the package ends,
# and the whole output of a failed test or package. Writes into the file summary how many tests
# were skipped and why, which failed, and how many ran; into leftout what tests report as left
# out. `go test` without -json prints a package's line only after all packages before it ended.

# field NAME returns a string field of the line, with its escapes.
function field(name,    text) {
	if (!match($0, "\"" name "\":\"([^\"\\\\]|\\\\.)*\"")) return ""
	text = substr($0, RSTART + length(name) + 4, RLENGTH - length(name) - 5)
	return text
}

function plain(text) {
	gsub(/\\\\/, "\001", text) # after this, every backslash begins an escape
	gsub(/\\u003c/, "<", text)
	gsub(/\\u003e/, ">", text)
	gsub(/\\u0026/, "\\&", text)
	gsub(/\\u001b/, "\033", text)
	gsub(/\\t/, "\t", text)
	gsub(/\\"/, "\"", text)
	gsub(/\\n/, "\n", text)
	gsub("\001", "\\", text)
	return text
}

function show(text) {
	printf "%s", text
	fflush()
}

# The output of a subtest is kept with the test around it, so that a failed test is shown whole.
$0 !~ /^\{.*"Action":"/ { show($0 "\n"); next }

{
	action = field("Action")
	package = field("Package")
	test = field("Test")
	around = test
	sub(/\/.*/, "", around)
	at = package " " around
}

action == "build-output" { show(plain(field("Output"))) }

action == "output" {
	text = plain(field("Output"))
	# The last message says why a test is skipped; testscript adds its environment.
	if (test != "" && match(text, /^ *[A-Za-z0-9_]+\.go:[0-9]+: /) && text !~ /: WORK=/) why[package " " test] = substr(text, RLENGTH + 1)
	if (test != "" && match(text, /: left out: [^\n]*/)) print substr(text, RSTART + 2, RLENGTH - 2) >leftout
	if (test != "") said[at] = said[at] text
	else if (text ~ /^(ok  |FAIL|\?   )\t/) closing[package] = text
	else if (text !~ /^(PASS|FAIL|=== |testing: warning)/) rest[package] = rest[package] text
}

action == "run" && test == around { running[at] = package }

(action == "pass" || action == "skip" || action == "fail") && test != "" {
	tests++
	if (action == "skip") {
		skips++
		reason = why[package " " test]
		if (reason ~ /redistest: no redis-server/) reason = "no redis-server"
		sub(/\n.*/, "", reason)
		if (!(reason in times)) reasons[++n] = reason
		times[reason]++
	}
	delete why[package " " test]
	if (action == "fail") {
		fails++
		failed = failed "=== FAIL: " package " " test "\n"
	}
	if (test == around) {
		if (action == "fail") show(said[at])
		delete said[at]
		delete running[at]
	}
}

(action == "pass" || action == "skip" || action == "fail") && test == "" {
	if (action == "fail") {
		for (at in running) if (running[at] == package) show(said[at]) # the test did not end
		show(rest[package])
		bad++
	}
	show(closing[package])
}

END {
	for (i = 1; i <= n; i++) skipped = skipped (i > 1 ? "; " : "SKIPPED ") times[reasons[i]] " tests: " reasons[i]
	if (skips) print skipped >summary
	printf "%s", failed >summary
	printf "DONE %d tests%s%s\n", tests, skips ? ", " skips " skipped" : "", fails ? ", " fails " failed" : "" >summary
	exit fails + bad > 0
}
