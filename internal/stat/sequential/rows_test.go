package sequential

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moonlap/moonlap/internal/record"
)

func TestRowsPairByNameOrAlone(t *testing.T) {
	c := func(number int, name, side string) record.Case {
		return record.Case{Case: number, Name: name, Side: side}
	}
	for _, tt := range []struct {
		what  string
		cases []record.Case
		want  [][2]int
	}{
		{"nothing", nil, nil},
		{"one case", []record.Case{c(0, "a", "")}, nil},
		{"one side", []record.Case{c(0, "a", ""), c(1, "b", ""), c(2, "c", "")}, [][2]int{{0, 1}, {0, 2}}},
		{"by name", []record.Case{c(0, "x@a", "a"), c(1, "y", "a"), c(2, "z", "b"), c(3, "x@b", "b")}, [][2]int{{0, 3}}},
		{"single cases", []record.Case{c(0, "x", "a"), c(1, "y", "b"), c(2, "z", "c")}, [][2]int{{0, 1}, {0, 2}}},
		{"not single on one side", []record.Case{c(0, "x", "a"), c(1, "y", "b"), c(2, "z", "b")}, nil},
	} {
		var got [][2]int
		for _, r := range Rows(tt.cases) {
			got = append(got, [2]int{r.A.Case, r.B.Case})
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.what, d)
		}
	}
}
