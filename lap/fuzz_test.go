package lap_test

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moonlap/moonlap/lap"
)

// Whatever the input, Decode returns; what it accepts survives a round trip.
func FuzzDecode(f *testing.F) {
	for _, d := range append(foreign(f), corrupt...) {
		f.Add(d.Encoding)
	}
	f.Fuzz(func(t *testing.T, text string) { decodeTwice(t, text) })
}

// The same behind base64, zlib and its checksum, where chance does not reach.
func FuzzDecodeContents(f *testing.F) {
	for _, r := range recordings {
		raw, err := base64.StdEncoding.DecodeString(r.histogram(f).Encode())
		if err != nil {
			f.Fatal(err)
		}
		z, err := zlib.NewReader(bytes.NewReader(raw[8:]))
		if err != nil {
			f.Fatal(err)
		}
		var data bytes.Buffer
		if _, err := data.ReadFrom(z); err != nil {
			f.Fatal(err)
		}
		f.Add(data.Bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) { decodeTwice(t, wrap(t, data)) })
}

func wrap(t *testing.T, data []byte) string {
	var stream bytes.Buffer
	z := zlib.NewWriter(&stream)
	if _, err := z.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	raw := binary.BigEndian.AppendUint32(nil, 0x1c849314)
	raw = binary.BigEndian.AppendUint32(raw, uint32(stream.Len()))
	return base64.StdEncoding.EncodeToString(append(raw, stream.Bytes()...))
}

func decodeTwice(t *testing.T, text string) {
	h, err := lap.Decode(text)
	if err != nil {
		return
	}
	again, err := lap.Decode(h.Encode())
	if err != nil {
		t.Fatalf("own encoding: %v", err)
	}
	if diff := cmp.Diff(figuresOf(h), figuresOf(again)); diff != "" {
		t.Fatal(diff)
	}
}
