# Reads what `go test -json` prints, and prints of it what people look for: each package's
# closing line as the package ends, all that a failed test or package said, and in the end
# which tests were skipped and failed, and how many there were. `go test` without -json keeps
# a package's line back until all packages before it have ended.

# field NAME is a string among the fields of the line, as it stands there.
function field(name,    text) {
	if (!match($0, "\"" name "\":\"([^\"\\\\]|\\\\.)*\"")) return ""
	text = substr($0, RSTART + length(name) + 4, RLENGTH - length(name) - 5)
	return text
}

function plain(text) {
	gsub(/\\\\/, "\001", text) # so that what is left of backslashes begins an escape
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

# The output of a test stands under its name and under that of the test around it, so that
# whichever fails is shown whole.
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
	if (test != "") said[at] = said[at] text
	else if (text ~ /^(ok  |FAIL|\?   )\t/) closing[package] = text
	else if (text !~ /^(PASS|FAIL|=== |testing: warning)/) rest[package] = rest[package] text
}

action == "run" && test == around { running[at] = package }

(action == "pass" || action == "skip" || action == "fail") && test != "" {
	tests++
	if (action == "skip") {
		skips++
		skipped = skipped "=== SKIP: " package " " test "\n"
	}
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
		for (at in running) if (running[at] == package) show(said[at]) # it did not end
		show(rest[package])
		bad++
	}
	show(closing[package])
}

END {
	printf "\n%s%s\nDONE %d tests", skipped, failed, tests
	if (skips) printf ", %d skipped", skips
	if (fails) printf ", %d failed", fails
	print ""
	exit fails + bad > 0
}
