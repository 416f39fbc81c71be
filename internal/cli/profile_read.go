package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/moonlap/moonlap/internal/files"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/report"
)

// again writes a kept profile in another format, and draws its summary.
func (o *profileOptions) again(ctx context.Context, sys Sys, file string) error {
	p, err := o.read(ctx, sys, file)
	if err != nil {
		return err
	}
	if o.title != "" {
		p.Title = o.title
	}
	if err := o.write(sys, p); err != nil {
		return err
	}
	if o.out == "-" {
		return nil
	}
	return report.Profile(sys.Stdout, p, o.out, reportOptions(sys))
}

// read reads a profile that --format json wrote, or that of a case in a record.
func (o *profileOptions) read(ctx context.Context, sys Sys, file string) (*profile.Profile, error) {
	p, _, err := o.readWith(ctx, sys, file)
	return p, err
}

// readWith also returns the record that the profile is in; nil where it is in none.
func (o *profileOptions) readWith(ctx context.Context, sys Sys, file string) (*profile.Profile, *record.Record, error) {
	f, err := files.Open(file)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	// A record has several lines, and may be compressed.
	from := bufio.NewReader(f)
	const recordBegins = `{"type":"run"`
	head, _ := from.Peek(len(recordBegins))
	if !bytes.HasPrefix(head, []byte("\x1f\x8b")) && string(head) != recordBegins {
		p, err := readProfile(ctx, sys, from, file)
		return p, nil, err
	}
	text, err := record.Inflate(from, file)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", file, err)
	}
	rec, err := awaited(ctx, sys, "reading "+file, func() (*record.Record, error) { return record.Read(text, file) })
	if rec == nil || len(rec.Cases) == 0 {
		return nil, nil, errors.Join(err, fmt.Errorf("%s holds no case", file))
	}
	p, err := o.ofRecord(rec, file)
	return p, rec, err
}

// mostProfile is more than a profile of hours has.
const mostProfile = 256 << 20

func readProfile(ctx context.Context, sys Sys, from io.Reader, file string) (*profile.Profile, error) {
	return awaited(ctx, sys, "reading "+file, func() (*profile.Profile, error) {
		data, err := io.ReadAll(files.Limit(from, file, mostProfile))
		if err != nil {
			return nil, err
		}
		p, err := profile.ReadJSON(data, record.Schema)
		if errors.Is(err, profile.ErrNotProfile) {
			return nil, fmt.Errorf("%s: %w, nor a record", file, err)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		return p, nil
	})
}

// ofRecord chooses a case's profile.
func (o *profileOptions) ofRecord(rec *record.Record, file string) (*profile.Profile, error) {
	var names []string
	var chosen *record.Profile
	for _, c := range rec.Cases {
		kept := rec.ProfileOf(c.Case)
		if kept == nil {
			continue
		}
		names = append(names, c.Name)
		if o.ofCase == "" || c.Name == o.ofCase {
			chosen = kept
		}
	}
	switch {
	case len(names) == 0:
		return nil, fmt.Errorf("%s: no case has a profile; 'moonlap bench --profile' keeps them", file)
	case chosen == nil:
		return nil, fmt.Errorf("%s: no case %q has a profile; there are %s", file, o.ofCase, strings.Join(names, ", "))
	case o.ofCase == "" && len(names) > 1:
		return nil, usageErrorf("%s holds several profiles: which --case? There are %s", file, strings.Join(names, ", "))
	}
	p, err := profile.ReadJSON(chosen.Profile, record.Schema)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return p, nil
}
