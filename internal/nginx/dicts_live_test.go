package nginx_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	ngx "github.com/moonlap/moonlap/internal/nginx"
	"github.com/moonlap/moonlap/internal/runtime/nginxtest"
	"github.com/moonlap/moonlap/internal/worker/workertest"
)

// dicts starts an nginx that serves testdata/dicts.lua.
func dicts(t *testing.T) (n *ngx.Nginx, client *http.Client) {
	t.Helper()
	server := ""
	for _, path := range []string{"truth", "small", "expire", "large", "pages", "evict"} {
		server += fmt.Sprintf(`location = /%s { content_by_lua_block { require("dicts").%s() } }`, path, path)
	}
	pid, client := workertest.App(t, nginxtest.Conf{HTTP: `lua_package_path "$prefix/?.lua;./?.lua;;"; lua_shared_dict small 1m; lua_shared_dict large 32m;
		lua_shared_dict pages 200k; lua_shared_dict none 100k;`, Server: server})
	return workertest.Open(t, pid).Nginx, client
}

// dictOf finds a dictionary by its name.
func dictOf(t *testing.T, n *ngx.Nginx, name string) *ngx.Dict {
	t.Helper()
	zones, err := n.Zones()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(zones, func(z ngx.Zone) bool { return z.Name == name })
	if i < 0 {
		t.Fatalf("no zone %s", name)
	}
	d, err := n.Dict(zones[i])
	if d == nil || err != nil {
		t.Fatalf("%s: %v, %v", name, d, err)
	}
	return d
}

// keysOf is what the dictionaries say of themselves.
func keysOf(t *testing.T, client *http.Client) map[string]struct{ Keys, Free int } {
	t.Helper()
	said := map[string]struct{ Keys, Free int }{}
	text := nginxtest.Get(t, client, "/truth").Get("Truth")
	if err := json.Unmarshal([]byte(text), &said); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return said
}

// scan reads a dictionary, and sums up what was read.
func scan(t *testing.T, d *ngx.Dict, pages, top int) (all ngx.Tally, c ngx.Contents) {
	t.Helper()
	c, err := d.Scan(time.Now(), pages, top, rand.New(rand.NewPCG(1, 2)))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range c.Strata {
		for _, one := range s.Read {
			all.Entries += one.Entries
			all.Expired += one.Expired
			all.Bytes += one.Bytes
		}
	}
	return all, c
}

// TestDictContents: every entry is seen, and which of them have expired.
func TestDictContents(t *testing.T) {
	n, client := dicts(t)
	nginxtest.Get(t, client, "/small")
	d := dictOf(t, n, "small")
	want := keysOf(t, client)["small"].Keys
	got, c := scan(t, d, 1<<20, 5)
	if got.Entries != want || got.Expired != 0 || c.Read != c.Used || c.Used == 0 {
		t.Errorf("%+v, %d of %d pages; get_keys(0) has %d", got, c.Read, c.Used, want)
	}
	const long = 5000 // of a key
	if len(c.Largest) != 5 || len(c.Largest[0].Key) != long || c.Largest[0].Bytes != uint64(len("a long key")) || c.Largest[1].Key != "string300" || c.Largest[1].Bytes != 300 {
		t.Errorf("the largest: %+v", c.Largest)
	}
	nginxtest.Get(t, client, "/expire")
	keysOf(t, client) // its get_keys brings nginx's clock up
	got, _ = scan(t, d, 1<<20, 0)
	if got.Entries != want+40 || got.Expired != 40 {
		t.Errorf("%+v after 40 of %d expired", got, want+40)
	}
	if none, c := scan(t, dictOf(t, n, "none"), 100, 3); none.Entries != 0 || len(c.Largest) != 0 {
		t.Errorf("an empty dictionary: %+v, %+v", none, c)
	}
}

// TestDictOldest: the order in which entries leave is that in which they were used.
func TestDictOldest(t *testing.T) {
	n, client := dicts(t)
	nginxtest.Get(t, client, "/small")
	d := dictOf(t, n, "small")
	oldest, err := d.Oldest(time.Now(), 1000)
	if err != nil {
		t.Fatal(err)
	}
	if want := keysOf(t, client)["small"].Keys; len(oldest) != want {
		t.Errorf("%d entries in the order, %d in the dictionary", len(oldest), want)
	}
	var last ngx.Entry
	for i, want := range []string{"string1", "string2", "string3"} {
		if oldest[i].Key != want || oldest[i].Left != nil || oldest[i].Type != "string" || oldest[i].Bytes != uint64(i+1) {
			t.Errorf("%d: %+v, want %s", i, oldest[i], want)
		}
	}
	if last = oldest[len(oldest)-1]; last.Key != "binary\x00\xffkey" || last.Left == nil || *last.Left > 2*time.Hour || *last.Left < time.Hour {
		t.Errorf("the newest: %+v", last)
	}
	if f := d.Fate(oldest, time.Now()); f != (ngx.Fate{}) {
		t.Errorf("%+v, though nothing was done", f)
	}
	forced, err := strconv.Atoi(nginxtest.Get(t, client, "/evict?n=4500").Get("Truth"))
	if err != nil || forced == 0 {
		t.Fatalf("nothing was thrown out: %d, %v", forced, err)
	}
	f := d.Fate(oldest, time.Now())
	after := keysOf(t, client)["small"].Keys
	if got, _ := scan(t, d, 1<<20, 0); got.Entries != after {
		t.Errorf("%+v entries; get_keys(0) has %d", got, after)
	}
	// The new ones are twice as large as the dictionary: all others were thrown out, and none had expired.
	if f.Gone != len(oldest) || f.Alive != f.Gone {
		t.Errorf("%d were there: %+v", len(oldest), f)
	}
	// An hour later those that were set for one would have expired.
	if f := d.Fate(oldest, time.Now().Add(90*time.Minute)); f.Gone-f.Alive != 50 {
		t.Errorf("%+v", f)
	}
	zones, err := n.Zones()
	if err != nil {
		t.Fatal(err)
	}
	before := d.Zone.Failed
	i := slices.IndexFunc(zones, func(z ngx.Zone) bool { return z.Name == "small" })
	// Each piece that there was no room for threw out one entry.
	if failed, out := zones[i].Failed-before, len(oldest)+4500-after; failed != uint64(out) {
		t.Errorf("%d pieces found no room, %d entries were thrown out", failed, out)
	}
}

// TestDictPages: values that take whole pages, and those that are thrown out for others.
func TestDictPages(t *testing.T) {
	n, client := dicts(t)
	nginxtest.Get(t, client, "/pages?first=1&n=8")
	d := dictOf(t, n, "pages")
	oldest, err := d.Oldest(time.Now(), 100)
	if err != nil || len(oldest) != 8 || oldest[0].Key != "page1" {
		t.Fatalf("%+v, %v", oldest, err)
	}
	got, c := scan(t, d, 100, 2)
	if got.Entries != 8 || c.Largest[0].Key != "page8" || c.Largest[0].Bytes != 10008 || c.Largest[1].Key != "page7" {
		t.Errorf("%+v, %+v", got, c.Largest)
	}
	nginxtest.Get(t, client, "/pages?first=9&n=12")
	after := keysOf(t, client)["pages"].Keys
	if after >= 20 {
		t.Fatalf("all 20 fit: %d", after)
	}
	if f := d.Fate(oldest, time.Now()); f.Gone != min(8, 20-after) || f.Alive != f.Gone {
		t.Errorf("%+v, of 20 set %d are left", f, after)
	}
}

// TestDictPart: of a large dictionary a part is read, drawn from all of it.
func TestDictPart(t *testing.T) {
	n, client := dicts(t)
	nginxtest.Get(t, client, "/large?n=60000")
	d := dictOf(t, n, "large")
	whole, all := scan(t, d, 1<<20, 0)
	if whole.Entries != 60000 || whole.Expired != 45000 || all.Read != all.Used {
		t.Errorf("%+v, %d of %d pages", whole, all.Read, all.Used)
	}
	part, c := scan(t, d, 200, 0)
	if c.Used != all.Used || c.Read < 200 || c.Read > 200+16*8 || part.Entries == 0 {
		t.Errorf("%+v of %d of %d pages", part, c.Read, c.Used)
	}
	sum := 0.0
	for _, s := range c.Strata {
		entries := 0
		for _, one := range s.Read {
			entries += one.Entries
		}
		sum += float64(s.Units) * float64(entries) / float64(len(s.Read))
	}
	if sum < 0.95*60000 || sum > 1.05*60000 { // nearly all pages are full
		t.Errorf("%.0f entries from a part", sum)
	}
}
