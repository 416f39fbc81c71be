package memory

import (
	"errors"
	"strings"
	"testing"
)

// TestRoom: this program begins only where its memory cgroups have room, as far as they can be read.
func TestRoom(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  string // in the error; "": none
	}{
		"version 1": {map[string]string{
			"proc/self/cgroup": "4:memory:/app\n", "proc/self/mountinfo": v1mount,
			"sys/fs/cgroup/memory/app/memory.limit_in_bytes": "104857600\n", "sys/fs/cgroup/memory/app/memory.usage_in_bytes": "83886080\n",
		}, "needs about 34 MB of memory to begin, and memory cgroup /app (limit 105 MB) has 13 MB to spare: raise that limit, or start moonlap outside"},
		"version 2, above its own": {map[string]string{
			"proc/self/cgroup": "0::/pod/app\n", "proc/self/mountinfo": v2mount, "sys/fs/cgroup/pod/app/memory.max": "max\n",
			"sys/fs/cgroup/pod/memory.max": "104857600\n", "sys/fs/cgroup/pod/memory.current": "83886080\n",
		}, "memory cgroup /pod (limit 105 MB) has 13 MB to spare"},
		"ended together": {map[string]string{
			"proc/self/cgroup": "0::/app\n", "proc/self/mountinfo": v2mount, "sys/fs/cgroup/app/memory.oom.group": "1\n",
			"sys/fs/cgroup/app/memory.max": "104857600\n", "sys/fs/cgroup/app/memory.current": "83886080\n",
		}, "13 MB to spare, whose processes the kernel ends all at once (memory.oom.group)"},
		"room": {map[string]string{
			"proc/self/cgroup": "0::/app\n", "proc/self/mountinfo": v2mount,
			"sys/fs/cgroup/app/memory.max": "104857600\n", "sys/fs/cgroup/app/memory.current": "52428800\n",
		}, ""},
		"a limit that cannot be read": {map[string]string{
			"proc/self/cgroup": "0::/app\n", "proc/self/mountinfo": v2mount, "sys/fs/cgroup/app/memory.max": "DIR",
		}, ""},
		"no cgroups": {nil, ""},
	} {
		err := tree(t, c.files).room(toLook)
		var tight *TightError
		if (err == nil) != (c.want == "") || err != nil && (!errors.As(err, &tight) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestTogether: the kernel ends this process with another one where both are in a group that says so, also above their own.
func TestTogether(t *testing.T) {
	for name, c := range map[string]struct {
		ours, theirs string
		want         bool
	}{
		"the same":           {"/pod/app", "/pod/app", true},
		"below":              {"/pod/app/debug", "/pod/app", true},
		"beside":             {"/pod/debug", "/pod/app", false},
		"without that":       {"/other", "/other", false},
		"ours alone says so": {"/pod/app", "/other", false},
	} {
		s := tree(t, map[string]string{
			"proc/self/cgroup": "0::" + c.ours + "\n", "proc/7/cgroup": "0::" + c.theirs + "\n", "proc/self/mountinfo": v2mount,
			"sys/fs/cgroup/pod/app/memory.oom.group": "1\n", "sys/fs/cgroup/pod/app/debug/memory.oom.group": "0\n",
			"sys/fs/cgroup/pod/debug/memory.oom.group": "1\n", "sys/fs/cgroup/other/memory.oom.group": "0\n",
		})
		if _, got := s.together(7); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
