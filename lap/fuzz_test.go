package lap_test

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"io"
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
		f.Add(contents(f, r.histogram(f).Encode()))
	}
	f.Fuzz(func(t *testing.T, data []byte) { decodeTwice(t, wrap(t, data)) })
}

// contents is what an encoding holds behind base64 and zlib: header and counters.
func contents(t testing.TB, encoding string) []byte {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(encoding)
	if err != nil {
		t.Fatal(err)
	}
	z, err := zlib.NewReader(bytes.NewReader(raw[8:]))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return data
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
