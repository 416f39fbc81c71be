package process

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadMaps(t *testing.T) {
	got, err := readMaps(strings.NewReader(`55d0c0a00000-55d0c0a2f000 r-xp 00002000 fe:00 131 /usr/sbin/nginx
7f00a0000000-7f00a0021000 rw-p 00000000 00:00 0
7f00b0000000-7f00b0001000 r--p 00000000 fe:00 77                         /opt/a b/lib.so (deleted)
7ffd10000000-7ffd10021000 rw-p 00000000 00:00 0                          [stack]
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []Mapping{
		{Start: 0x55d0c0a00000, End: 0x55d0c0a2f000, Offset: 0x2000, Executable: true, Device: "fe:00", Inode: 131, Path: "/usr/sbin/nginx"},
		{Start: 0x7f00a0000000, End: 0x7f00a0021000, Writable: true, Device: "00:00"},
		{Start: 0x7f00b0000000, End: 0x7f00b0001000, Device: "fe:00", Inode: 77, Path: "/opt/a b/lib.so (deleted)"},
		{Start: 0x7ffd10000000, End: 0x7ffd10021000, Writable: true, Device: "00:00", Path: "[stack]"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(- want, + got)\n%s", diff)
	}
	if !got[2].Deleted() || got[0].Deleted() {
		t.Error("Deleted is wrong")
	}
}

func FuzzParseMapping(f *testing.F) {
	f.Add("55d0c0a00000-55d0c0a2f000 r-xp 00002000 fe:00 131 /usr/sbin/nginx")
	f.Add("1-2 r 0 0 0")
	f.Fuzz(func(t *testing.T, line string) {
		if m, err := parseMapping(line); err == nil && m.End <= m.Start {
			t.Errorf("%q: an empty mapping %+v", line, m)
		}
	})
}

func TestParseStat(t *testing.T) {
	line := "42 (nginx: worker) (x)) S 41 7 7 0 -1 4194624 1 2 3 4 50 25 0 0 20 0 1 0 100 1 1"
	got, err := parseStat(line)
	if want := (Stat{State: 'S', Parent: 41, Group: 7, Ticks: 75}); err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	for _, bad := range []string{"", "42 nginx S 1", "42 (nginx) S 41 7", strings.Replace(line, "50", "x", 1)} {
		if _, err := parseStat(bad); err == nil {
			t.Errorf("%q passed for a line of stat", bad)
		}
	}
}

// TestFamily: a process's children are of its family, and of nobody else's.
func TestFamily(t *testing.T) {
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Skip(err)
	}
	defer child.Wait()
	defer child.Process.Kill()
	if all := Family(os.Getpid()); !slices.Contains(all, child.Process.Pid) || !slices.Contains(all, os.Getpid()) {
		t.Errorf("%d is no child of %d: %v", child.Process.Pid, os.Getpid(), all)
	}
	if all := Family(child.Process.Pid); !slices.Equal(all, []int{child.Process.Pid}) {
		t.Errorf("the family of a process without children: %v", all)
	}
}
