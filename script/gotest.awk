# Reads `go test -json`: prints a line a package and the output of what failed, and adds a line
# "pass|fail|skip <tab> name" a test to the file in `tally`. A test with subtests is counted by
# its subtests, or by itself when it failed and none of them did.

# field(key): a string of the current line, unescaped; "" when it is not there.
function field(key,    text) {
    if (!match($0, "\"" key "\":\"([^\"\\\\]|\\\\.)*\"")) return ""
    text = substr($0, RSTART + length(key) + 4, RLENGTH - length(key) - 5)
    if (index(text, "\\") == 0) return text
    gsub(/\\\\/, "\001", text)
    gsub(/\\n/, "\n", text); gsub(/\\t/, "\t", text); gsub(/\\r/, "", text); gsub(/\\"/, "\"", text)
    gsub(/\\u003c/, "<", text); gsub(/\\u003e/, ">", text); gsub(/\\u0026/, "\\&", text)
    gsub(/\\u001b/, "\033", text)
    gsub("\001", "\\", text)
    return text
}

function parent(name) { return match(name, /\/[^\/]*$/) ? substr(name, 1, RSTART - 1) : "" }

# ending(words): at most the last 60 lines, after a word on what was left out. The end says why a
# script failed, and who reads a CI's log sees only so much of it.
function ending(words,    line, lines, n, i) {
    n = split(words, line, "\n") - 1
    if (n <= 60) return words
    lines = "    [" n - 60 " lines before these: go test -run, with the test's name, prints them]\n"
    for (i = n - 59; i <= n; i++) lines = lines line[i] "\n"
    return lines
}

# clock(): when the current line's event was, in seconds of its day.
function clock(    time) {
    time = field("Time")
    return substr(time, 12, 2) * 3600 + substr(time, 15, 2) * 60 + substr(time, 18, 6)
}

# record(result, what): one test.
function record(result, what) { print result "\t" what >> tally; counted[result, package]++ }

{ action = field("Action"); package = field("Package"); test = field("Test") }

action == "build-output" { printf "%s", field("Output") }
action == "run" { children[package, parent(test)]++ }
action == "run" && !(package in began) { began[package] = clock() }
action == "output" {
    text = field("Output")
    if (text !~ /^ *(=== |--- |PASS|ok |FAIL)/) said[package, test] = said[package, test] text
}

test != "" && (action == "pass" || action == "fail" || action == "skip") {
    words = said[package, test]
    delete said[package, test]
    if (action == "fail") {
        if (!failed_below[package, test]) record("fail", package " " test)
        for (up = parent(test); up != ""; up = parent(up)) failed_below[package, up] = 1
        printf "--- FAIL: %s %s\n%s", package, test, ending(words)
    } else if (action == "skip") {
        gsub(/\n */, " ", words); gsub(/^ +| +$/, "", words)
        record("skip", package " " test ": " words)
    } else if (!children[package, test]) {
        record("pass", package " " test)
    }
}

test == "" && (action == "pass" || action == "fail") {
    if (action == "fail" && !counted["fail", package]) {
        record("fail", package ": did not build, or ended outside a test")
        printf "%s", said[package, ""]
    }
    # From its first test on: Elapsed has the time in which another package had the machine.
    seconds = package in began ? clock() - began[package] : 0
    if (seconds < 0) seconds += 86400
    printf "%s %s: %d passed, %d failed, %d skipped in %.1f s\n", (action == "pass" ? "ok  " : "FAIL"), package, \
        counted["pass", package], counted["fail", package], counted["skip", package], seconds
    fflush()
}
