// Package view draws again what was kept of workers: each kind of document by its own view.
package view

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/moonlap/moonlap/internal/files"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/ui"
	"github.com/moonlap/moonlap/internal/view/capture"
	"github.com/moonlap/moonlap/internal/view/explain"
	"github.com/moonlap/moonlap/internal/view/profiles"
	"github.com/moonlap/moonlap/internal/view/watch"
)

var errEarlier = errors.New("an earlier version of moonlap wrote it, and without what is needed to draw it again")

// Draw draws the documents of a file, one below the other, with times of a place.
func Draw(to io.Writer, data []byte, at *time.Location, opt ui.Options) error {
	for line := range bytes.Lines(data) {
		var about struct {
			Schema string `json:"schema"`
			Kind   string `json:"kind"`
		}
		if json.Unmarshal(line, &about) != nil || !slices.Contains([]string{"watch", "capture"}, about.Kind) {
			return drawDocument(to, data, opt) // of several lines, or the only one
		}
		if about.Kind == "capture" {
			if err := drawDocument(to, line, opt); err != nil {
				return err
			}
			continue
		}
		if about.Schema != record.Schema {
			return fmt.Errorf("its schema is %q, and this moonlap reads %q", about.Schema, record.Schema)
		}
		if err := files.CheckJSON("the file", line); err != nil {
			return err
		}
		var s watch.Snapshot
		if err := json.Unmarshal(line, &s); err != nil {
			return err
		}
		if s.At.IsZero() {
			return errEarlier
		}
		if err := watch.Draw(to, s, s.At.In(at), opt); err != nil {
			return err
		}
	}
	return nil
}

// drawDocument draws one.
func drawDocument(to io.Writer, data []byte, opt ui.Options) error {
	d, err := profile.ReadDocument(data)
	if err != nil {
		return err
	}
	if kept, ok := d.Evidence[capture.Name].(*capture.Capture); ok {
		return kept.Summary(to, opt)
	}
	switch d.Kind {
	case "explain":
		if len(d.PIDs) == 0 {
			return errEarlier
		}
		return explain.Draw(to, d.Profile, opt)
	default:
		return profiles.Draw(to, d.Profile, "", opt)
	}
}
