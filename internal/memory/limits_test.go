package memory

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tree makes a machine of files. A value "DIR" makes a folder where a file is expected, which cannot be read.
func tree(t *testing.T, files map[string]string) System {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		folder := filepath.Dir(path)
		if text == "DIR" {
			folder = path
		}
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		if text == "DIR" {
			continue
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return System{Root: root}
}

const (
	mb      = 1 << 20
	meminfo = "MemTotal: 16777216 kB\nMemFree: 1 kB\nMemAvailable: 8388608 kB\n"
	v2mount = "35 24 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
	v1mount = "40 24 0:31 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n41 24 0:32 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
)

// TestLimits: what is to spare is the least of all groups', with both versions and where they are mounted.
func TestLimits(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  map[string]int64 // spare, by name; -1: cannot be read
	}{
		"version 2, its own and those above": {map[string]string{
			"proc/self/cgroup": "0::/pod/app\n", "proc/self/mountinfo": v2mount,
			"sys/fs/cgroup/cgroup.procs":           "",
			"sys/fs/cgroup/pod/memory.max":         "1048576000\n",
			"sys/fs/cgroup/pod/memory.high":        "max\n",
			"sys/fs/cgroup/pod/memory.current":     "943718400\n",
			"sys/fs/cgroup/pod/memory.stat":        "anon 1\ninactive_file 104857600\n",
			"sys/fs/cgroup/pod/app/memory.max":     "max\n",
			"sys/fs/cgroup/pod/app/memory.high":    "524288000\n",
			"sys/fs/cgroup/pod/app/memory.current": "104857600\n",
			"sys/fs/cgroup/pod/app/memory.stat":    "inactive_file 0\n",
		}, map[string]int64{"memory cgroup /pod/app": 375 * mb, "memory cgroup /pod": 150 * mb}},
		"version 2 without limits": {map[string]string{
			"proc/self/cgroup": "0::/app\n", "proc/self/mountinfo": v2mount,
			"sys/fs/cgroup/app/memory.max": "max\n", "sys/fs/cgroup/app/memory.high": "max\n", "sys/fs/cgroup/app/memory.current": "1\n",
		}, nil},
		"version 2 without the controller": {map[string]string{
			"proc/self/cgroup": "0::/app\n", "proc/self/mountinfo": v2mount, "sys/fs/cgroup/app/cgroup.procs": "",
		}, nil},
		"version 2 in a container's namespace": {map[string]string{
			"proc/self/cgroup": "0::/\n", "proc/self/mountinfo": v2mount,
			"sys/fs/cgroup/memory.max": "104857600\n", "sys/fs/cgroup/memory.current": "0\n",
		}, map[string]int64{"memory cgroup /": 92 * mb}},
		"version 1, where the other hierarchy has no memory": {map[string]string{
			"proc/self/cgroup": "4:memory:/app\n3:cpu:/other\n0::/\n", "proc/self/mountinfo": v1mount + v2mount,
			"sys/fs/cgroup/memory/memory.limit_in_bytes":     "9223372036854771712\n",
			"sys/fs/cgroup/memory/app/memory.limit_in_bytes": "1048576000\n",
			"sys/fs/cgroup/memory/app/memory.usage_in_bytes": "524288000\n",
			"sys/fs/cgroup/memory/app/memory.stat":           "inactive_file 7\ntotal_inactive_file 52428800\n",
		}, map[string]int64{"memory cgroup /app": 500 * mb}},
		"version 1, memory and swap": {map[string]string{
			"proc/self/cgroup": "4:cpu,memory:/app\n", "proc/self/mountinfo": v1mount,
			"sys/fs/cgroup/memory/app/memory.limit_in_bytes":       "1048576000\n",
			"sys/fs/cgroup/memory/app/memory.usage_in_bytes":       "0\n",
			"sys/fs/cgroup/memory/app/memory.memsw.limit_in_bytes": "1048576000\n",
			"sys/fs/cgroup/memory/app/memory.memsw.usage_in_bytes": "943718400\n",
		}, map[string]int64{"memory cgroup /app": 50 * mb}},
		"version 1 in a container that sees its own group alone": {map[string]string{
			"proc/self/cgroup": "4:memory:/docker/abc\n", "proc/self/mountinfo": "40 24 0:31 /docker/abc /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "104857600\n", "sys/fs/cgroup/memory/memory.usage_in_bytes": "20971520\n",
		}, map[string]int64{"memory cgroup /docker/abc": 72 * mb}},
		"a mount point with a blank": {map[string]string{
			"proc/self/cgroup": "0::/a\n", "proc/self/mountinfo": `35 24 0:30 / /c\040g rw - cgroup2 cgroup2 rw` + "\n",
			"c g/a/memory.max": "104857600\n", "c g/a/memory.current": "0\n",
		}, map[string]int64{"memory cgroup /a": 92 * mb}},
		"outside of the namespace": {map[string]string{
			"proc/self/cgroup": "0::/../other\n", "proc/self/mountinfo": v2mount,
		}, map[string]int64{"memory cgroup /../other": -1}},
		"outside of what is mounted": {map[string]string{
			"proc/self/cgroup": "4:memory:/else\n", "proc/self/mountinfo": "40 24 0:31 /docker/abc /m rw - cgroup cgroup rw,memory\n",
		}, map[string]int64{"memory cgroup /else": -1}},
		"not mounted": {map[string]string{
			"proc/self/cgroup": "4:memory:/app\n", "proc/self/mountinfo": "",
		}, map[string]int64{"memory cgroup /app": -1}},
		"the group's folder is hidden": {map[string]string{
			"proc/self/cgroup": "0::/app\n", "proc/self/mountinfo": v2mount,
		}, map[string]int64{"memory cgroup /app": -1}},
		"a limit that cannot be read": {map[string]string{
			"proc/self/cgroup": "0::/app\n", "proc/self/mountinfo": v2mount, "sys/fs/cgroup/app/memory.max": "DIR",
		}, map[string]int64{"memory cgroup /app": -1}},
		"a usage that cannot be read": {map[string]string{
			"proc/self/cgroup": "0::/app\n", "proc/self/mountinfo": v2mount, "sys/fs/cgroup/app/memory.max": "104857600\n", "sys/fs/cgroup/app/memory.current": "DIR",
		}, map[string]int64{"memory cgroup /app": -1}},
		"a limit that is no number": {map[string]string{
			"proc/self/cgroup": "0::/app\n", "proc/self/mountinfo": v2mount, "sys/fs/cgroup/app/memory.max": "-\n",
		}, map[string]int64{"memory cgroup /app": -1}},
		"the list of groups cannot be read": {map[string]string{"proc/self/cgroup": "DIR"}, map[string]int64{"memory cgroup of process self": -1}},
		"no cgroups":                        {map[string]string{"proc/meminfo": meminfo}, nil},
		"in the root of one that is not mounted": {map[string]string{
			"proc/self/cgroup": "4:memory:/\n0::/\n", "proc/self/mountinfo": "",
		}, nil},
	} {
		got := tree(t, c.files).Groups("self")
		if len(got) != len(c.want) {
			t.Errorf("%s: %+v, want %v", name, got, c.want)
			continue
		}
		for _, l := range got {
			want, known := c.want[l.Name]
			if !known || (want == -1) != (l.Err != nil) || want >= 0 && l.Spare != want {
				t.Errorf("%s: %s: %d MB to spare, %v; want %d", name, l.Name, l.Spare>>20, l.Err, want>>20)
			}
		}
	}
}

// TestCheck: the machine, the groups of this process and, for what is in swap, those of the other one are asked.
func TestCheck(t *testing.T) {
	base := map[string]string{
		"proc/meminfo": meminfo, "proc/self/mountinfo": v1mount,
		"proc/self/cgroup": "4:memory:/ours\n", "proc/7/cgroup": "4:memory:/theirs\n", "proc/7/oom_score_adj": "0\n",
		"sys/fs/cgroup/memory/ours/memory.limit_in_bytes":   "1048576000\n",
		"sys/fs/cgroup/memory/ours/memory.usage_in_bytes":   "0\n",
		"sys/fs/cgroup/memory/theirs/memory.limit_in_bytes": "104857600\n",
		"sys/fs/cgroup/memory/theirs/memory.usage_in_bytes": "52428800\n",
	}
	for name, c := range map[string]struct {
		change map[string]string
		need   Need
		want   string // in the error; "": none
	}{
		"enough":               {nil, Need{Own: 900 * mb, PID: 7}, ""},
		"our group":            {nil, Need{Own: 1000 * mb, PID: 7}, "needs about 1049 MB of memory, and memory cgroup /ours (limit 1049 MB) has 996 MB to spare"},
		"the machine":          {map[string]string{"proc/self/cgroup": ""}, Need{Own: 9 << 30, PID: 7}, "this machine (limit 17.2 GB)"},
		"their group in swap":  {nil, Need{Own: 1 * mb, Theirs: 60 * mb, PID: 7}, "in swap would come back and take about 63 MB of memory, and memory cgroup /theirs"},
		"their group, no swap": {nil, Need{Own: 500 * mb, PID: 7}, ""},
		"the same group": {map[string]string{"proc/self/cgroup": "4:memory:/theirs\n"}, Need{Own: 60 * mb, PID: 7},
			"memory cgroup /theirs (limit 105 MB) has 44 MB to spare"},
		"the same group, and one that is ended as soon": {map[string]string{"proc/self/cgroup": "4:memory:/theirs\n", "proc/7/oom_score_adj": "1000\n"},
			Need{Own: 30 * mb, PID: 7}, "has 22 MB to spare"},
		"a machine that does not tell": {map[string]string{"proc/meminfo": "MemTotal: 5 kB\n"}, Need{Own: 100 * mb}, "is not known: this machine"},
		"a limit that is hidden":       {map[string]string{"proc/self/cgroup": "4:memory:/hidden\n"}, Need{Own: 100 * mb, PID: 7}, "is not known: memory cgroup /hidden, whose limit cannot be read"},
		"little, though hidden":        {map[string]string{"proc/self/cgroup": "4:memory:/hidden\n"}, Need{Own: 10 * mb, PID: 7}, ""},
	} {
		files := map[string]string{}
		for f, text := range base {
			files[f] = text
		}
		for f, text := range c.change {
			files[f] = text
		}
		err := tree(t, files).Check(c.need)
		var short *ShortError
		if (err == nil) != (c.want == "") || err != nil && (!errors.As(err, &short) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestMachine: this machine tells, and is asked for no more than it has.
func TestMachine(t *testing.T) {
	l := System{}.Machine()
	if l.Err != nil {
		t.Skip(l.Err)
	}
	if l.Spare <= 0 || l.Spare >= l.Bytes {
		t.Errorf("%+v", l)
	}
	if err := (System{}).Check(Need{Own: l.Bytes + 1}); err == nil {
		t.Error("more than the machine has can be taken")
	}
}

// FuzzMountinfo: no text makes finding a mount panic.
func FuzzMountinfo(f *testing.F) {
	f.Add(v1mount + v2mount)
	f.Add("1 2 3 / - cgroup2 a\n")
	f.Fuzz(func(t *testing.T, text string) {
		findMount(text, version1)
		findMount(text, version2)
		field(text, "MemTotal:")
	})
}
