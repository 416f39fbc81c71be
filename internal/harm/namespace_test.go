package harm

import (
	"math/rand/v2"
	"path/filepath"
)

// inNamespace has moonlap start in mounts, a host name and a network of its own, as in a container that sees the machine's processes.
func inNamespace(*bed, *rand.Rand) []string {
	return []string{"unshare", "--mount", "--uts", "--ipc", "--net"}
}

// procHidden has moonlap start in a container of its own, whose /proc shows no process but its.
func procHidden(b *bed, _ *rand.Rand) []string {
	b.early = true
	return []string{"unshare", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child"}
}

// othersHidden has moonlap start as an ordinary user, where /proc is mounted with hidepid=2: it shows nobody the processes of others.
func othersHidden(b *bed, _ *rand.Rand) []string {
	const nobody = "65534"
	b.early = true
	return []string{"unshare", "--mount", "sh", "-c", `mount -t proc -o hidepid=2 proc /proc && chown -R ` + nobody + ` "$0" &&
		exec setpriv --reuid ` + nobody + ` --regid ` + nobody + ` --clear-groups -- "$@"`, filepath.Join(b.folder, "looks")}
}

// hidden: moonlap finds no worker, says so and ends.
func hidden(_ *bed, l *look, _ *rand.Rand) error {
	if err := l.finish(); err != nil {
		return err
	}
	return l.exits(1, "no process", "no nginx", "this user lacks CAP_BPF")
}
