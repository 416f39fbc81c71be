package report

import "github.com/moonlap/moonlap/internal/ui"

// page is a page with the parts that several of this room's reports have.
type page struct{ *ui.Page }

func newPage(opt ui.Options) *page { return &page{ui.NewPage(opt)} }
