package harm

import "math/rand/v2"

// inNamespace has moonlap start in mounts, a host name and a network of its own, as in a container that sees the machine's processes.
func inNamespace(*bed, *rand.Rand) []string {
	return []string{"unshare", "--mount", "--uts", "--ipc", "--net"}
}

// procHidden has moonlap start in a container of its own, whose /proc shows no process but its.
func procHidden(*bed, *rand.Rand) []string {
	return []string{"unshare", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child"}
}

// hidden: moonlap finds no worker, says so and ends.
func hidden(_ *bed, l *look, _ *rand.Rand) error {
	if err := l.finish(); err != nil {
		return err
	}
	return l.exits(1, "no process", "no nginx")
}
