# What the scripts in this folder share. POSIX sh alone, sourced with $root set to the checkout:
#   root=$(cd "$(dirname "$0")/.." && pwd -P) && . "$root/script/lib.sh"
# shellcheck shell=sh

# Debian keeps nginx in /usr/sbin, which is not on the PATH of an ordinary user.
PATH=$PATH:/usr/sbin:/sbin
# One static program and no C compiler; the Go that was found, never one downloaded behind our back.
CGO_ENABLED=0 GOTOOLCHAIN=local
export PATH CGO_ENABLED GOTOOLCHAIN

say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }
fail() {
    say "$@"
    exit 1
}
have() { command -v "$1" >/dev/null 2>&1; }

# The oldest Go that builds this tree, "major.minor". go.mod says it, once.
# shellcheck disable=SC2154 # root: see the first lines
go_wanted=$(sed -n 's/^go \([0-9]*\.[0-9]*\).*/\1/p' "$root/go.mod")

# at_least HAVE WANTED: is the version "major.minor" HAVE as new as WANTED?
at_least() {
    [ "${1%%.*}" -gt "${2%%.*}" ] && return 0
    [ "${1%%.*}" -eq "${2%%.*}" ] && [ "${1#*.}" -ge "${2#*.}" ]
}

# go_is_new_enough PROGRAM
go_is_new_enough() {
    go_found=$("$1" version 2>/dev/null | sed -n 's/.*go\([0-9][0-9]*\.[0-9][0-9]*\).*/\1/p')
    [ -n "$go_found" ] && at_least "$go_found" "$go_wanted"
}

# use_go: put a Go that is new enough first on the PATH; false when there is none. Looked at in
# this order: the PATH, where Go's own archive and Debian's versioned packages put it, and the
# private virtual environment that script/bootstrap makes.
use_go() {
    for go_program in "$(command -v go || :)" /usr/local/go/bin/go /usr/lib/go-*/bin/go \
        "$root"/.venv/lib/python3*/site-packages/go/bin/go; do
        if [ -x "$go_program" ] && go_is_new_enough "$go_program"; then
            [ "$go_program" = "$(command -v go || :)" ] || PATH=${go_program%/*}:$PATH
            return 0
        fi
    done
    return 1
}
