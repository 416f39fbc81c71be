# A fresh minimal Debian in a folder, entered by chroot: for scripts that prove something on a bare machine.
# POSIX sh alone, sourced after lib.sh.
# shellcheck shell=sh

# bare_is_possible, or the script ends and says what is missing.
bare_is_possible() {
    [ "$(id -u)" -eq 0 ] || fail "chroot and debootstrap need root: sudo $0"
    for program in debootstrap git unshare chroot; do
        have "$program" || fail "$program is missing: apt-get install debootstrap git util-linux"
    done
}

# bootstrapped RELEASE FOLDER: debootstrap for Debian's releases, and for Ubuntu's with the packages of its universe.
# An older debootstrap does not know the names of newer releases: all Debians are made as sid is, all Ubuntus as gutsy.
bootstrapped() {
    case $1 in
        jammy | noble | plucky | questing | resolute)
            debootstrap --variant=minbase --components=main,universe \
                --keyring="${UBUNTU_KEYRING:-/usr/share/keyrings/ubuntu-archive-keyring.gpg}" \
                "$1" "$2" http://archive.ubuntu.com/ubuntu gutsy
            ;;
        *) debootstrap --variant=minbase "$1" "$2" http://deb.debian.org/debian sid ;;
    esac
}

# make_bare RELEASE FOLDER: RELEASE of Debian or Ubuntu, minimal, in FOLDER. It reaches package registries as this
# machine does: proxies, registry addresses, and certificates as copies. Sets $bare.
make_bare() {
    bare=$2
    say "making a minimal root ($1)"
    bootstrapped "$1" "$bare" >"$bare.log" 2>&1 || {
        tail -n 20 "$bare.log" >&2
        fail "debootstrap failed"
    }
    mkdir -p "$bare/etc/machine-ca"
    {
        echo "HOME=/root LANG=C.UTF-8 TERM=dumb PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        echo "export HOME LANG TERM PATH"
        for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY \
            GOPROXY GOSUMDB GONOSUMDB GOPRIVATE PIP_INDEX_URL PIP_EXTRA_INDEX_URL PIP_TRUSTED_HOST; do
            value=$(printenv "$name") || continue
            printf "export %s='%s'\n" "$name" "$value"
        done
        for name in SSL_CERT_FILE PIP_CERT REQUESTS_CA_BUNDLE CURL_CA_BUNDLE GIT_SSL_CAINFO; do
            value=$(printenv "$name") || continue
            [ -f "$value" ] || continue
            cp -L "$value" "$bare/etc/machine-ca/$name"
            echo "export $name=/etc/machine-ca/$name"
        done
    } >"$bare/etc/machine-env"
    apt-config dump | grep -E '^Acquire::(http|https)::[Pp]roxy ' >"$bare/etc/apt/apt.conf.d/machine-proxy" || :
}

# enter COMMAND…: run it inside $bare in a clean environment, with mount and process namespaces of its own:
# nothing of it is mounted or running outside.
# shellcheck disable=SC2016 # the inner shells expand
enter() {
    unshare --mount --pid --fork --kill-child sh -euc '
        bare=$1
        shift
        mount --bind "$bare" "$bare" # as the root of a machine is a mount
        cd "$bare" # and what is seen below it is that mount
        mount -t proc proc "$bare/proc"
        mount -t sysfs -o ro sysfs "$bare/sys"
        mount -t tmpfs tmpfs "$bare/dev/shm"
        mount -t devpts -o newinstance,ptmxmode=0666 devpts "$bare/dev/pts"
        exec chroot "$bare" env -i sh -c ". /etc/machine-env && exec \"\$@\"" sh "$@"' enter "$bare" "$@" </dev/null
}
