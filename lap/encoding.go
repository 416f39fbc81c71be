package lap

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/adler32"
	"io"
	"math"
	"math/bits"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The V2 format: see AbstractHistogram.java of HdrHistogram. The 0x10 says 64-bit
// counters in ZigZag LEB128.
const (
	cookie           = 0x1c849303 + 0x10
	compressedCookie = 0x1c849304 + 0x10
	headerBytes      = 40
	storedBlock      = 65535 // longest stored block of a zlib stream
)

// Encode writes HdrHistogram's V2 encoding in base64, which every HdrHistogram
// library reads. The zlib stream consists of stored blocks, so that equal counts
// give equal strings and the Lua library writes the same without libz.
func (h *Histogram) Encode() string {
	payload := h.payload()
	data := make([]byte, 0, headerBytes+len(payload))
	data = binary.BigEndian.AppendUint32(data, cookie)
	data = binary.BigEndian.AppendUint32(data, uint32(len(payload)))
	data = binary.BigEndian.AppendUint32(data, 0) // normalizing index offset
	data = binary.BigEndian.AppendUint32(data, uint32(h.digits))
	data = binary.BigEndian.AppendUint64(data, uint64(h.lowest))
	data = binary.BigEndian.AppendUint64(data, uint64(h.highest))
	data = binary.BigEndian.AppendUint64(data, math.Float64bits(1)) // ratio of stored integers to values
	data = append(data, payload...)

	stream := store(data)
	var out []byte
	out = binary.BigEndian.AppendUint32(out, compressedCookie)
	out = binary.BigEndian.AppendUint32(out, uint32(len(stream)))
	return base64.StdEncoding.EncodeToString(append(out, stream...))
}

// payload is the counters up to the last that is not 0 (or the first), a run of
// several zeros as one negative number.
func (h *Histogram) payload() []byte {
	used := len(h.counts)
	for used > 1 && h.counts[used-1] == 0 {
		used--
	}
	var out []byte
	for i := 0; i < used; {
		if h.counts[i] != 0 {
			out = appendNumber(out, h.counts[i]<<1)
			i++
			continue
		}
		first := i
		for i < used && h.counts[i] == 0 {
			i++
		}
		if zeros := i - first; zeros > 1 {
			out = appendNumber(out, uint64(2*zeros-1))
		} else {
			out = append(out, 0)
		}
	}
	return out
}

// appendNumber writes LEB128 in at most 9 bytes: the ninth holds 8 bits.
func appendNumber(out []byte, zigzag uint64) []byte {
	for n := 1; zigzag >= 0x80 && n < 9; n++ {
		out = append(out, byte(zigzag)|0x80)
		zigzag >>= 7
	}
	return append(out, byte(zigzag))
}

// store wraps data as a zlib stream of stored blocks. compress/zlib at level 0 adds
// an empty last block that the Lua library would have to imitate.
func store(data []byte) []byte {
	sum := adler32.Checksum(data)
	out := []byte{0x78, 0x01}
	for first := true; first || len(data) > 0; first = false {
		block := data[:min(len(data), storedBlock)]
		data = data[len(block):]
		var final byte
		if len(data) == 0 {
			final = 1
		}
		out = append(out, final)
		out = binary.LittleEndian.AppendUint16(out, uint16(len(block)))
		out = binary.LittleEndian.AppendUint16(out, ^uint16(len(block)))
		out = append(out, block...)
	}
	return binary.BigEndian.AppendUint32(out, sum)
}

// Decode reads HdrHistogram's V2 encoding in base64, by whatever library wrote it,
// stored or compressed. Count is exact; Min, Max and Mean come from the buckets.
func Decode(text string) (*Histogram, error) {
	if g, payload, ok := stored(text); ok {
		h := &Histogram{geometry: g, counts: make([]uint64, g.counters)}
		h.Reset()
		if h.add(payload) {
			return h, nil
		}
	}
	return decode(text)
}

// MergeEncoded adds the values of an encoding, as [Decode] and [Histogram.Merge] would. What [Histogram.Encode] or the Lua
// library wrote is added without a histogram in between, which is some hundred times faster where it has few values.
func (h *Histogram) MergeEncoded(text string) error {
	if g, payload, ok := stored(text); ok && g == h.geometry && h.add(payload) {
		return nil
	}
	other, err := Decode(text)
	if err != nil {
		return err
	}
	return h.Merge(other)
}

// stored takes an encoding apart whose zlib stream is one stored block, as ours mostly are; false for any other, and for
// one that is wrong somewhere.
func stored(text string) (g geometry, payload []byte, ok bool) {
	const before, after = 8 + 2 + 5, 4 // cookie and length, zlib's and the block's head; the checksum
	raw, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) < before+headerBytes+after || binary.BigEndian.Uint32(raw) != compressedCookie {
		return g, nil, false
	}
	size := int(binary.LittleEndian.Uint16(raw[11:]))
	data := raw[before : len(raw)-after]
	switch {
	case raw[8] != 0x78 || raw[9] != 0x01 || raw[10] != 1 || size != len(data):
		return g, nil, false
	case ^binary.LittleEndian.Uint16(raw[13:]) != uint16(size) || binary.BigEndian.Uint32(raw[len(raw)-after:]) != adler32.Checksum(data):
		return g, nil, false
	case binary.BigEndian.Uint32(raw[4:]) != uint32(len(raw)-8) || binary.BigEndian.Uint32(data) != cookie:
		return g, nil, false
	case binary.BigEndian.Uint32(data[4:]) != uint32(size-headerBytes) || binary.BigEndian.Uint32(data[8:]) != 0:
		return g, nil, false
	case binary.BigEndian.Uint64(data[32:]) != math.Float64bits(1):
		return g, nil, false
	}
	g, err = newGeometry(int64(binary.BigEndian.Uint64(data[16:])), int64(binary.BigEndian.Uint64(data[24:])),
		int(int32(binary.BigEndian.Uint32(data[12:]))))
	return g, data[headerBytes:], err == nil
}

// add adds a payload's counters. Where the payload is wrong it adds nothing, and is false.
func (h *Histogram) add(payload []byte) bool {
	return h.walk(payload, func(int, uint64) {}) && h.walk(payload, h.restore)
}

// walk hands on the counters of a payload that are not 0; false where it is wrong.
func (h *Histogram) walk(payload []byte, counter func(i int, n uint64)) bool {
	i := 0
	for len(payload) > 0 {
		zigzag, size := number(payload)
		if size == 0 {
			return false
		}
		payload = payload[size:]
		n := int64(zigzag>>1) ^ -int64(zigzag&1)
		switch {
		case n < 0 && n >= int64(i-len(h.counts)):
			i += int(-n)
		case n >= 0 && i < len(h.counts):
			if n > 0 {
				counter(i, uint64(n))
			}
			i++
		default:
			return false
		}
	}
	return true
}

// number reads what appendNumber wrote; a size of 0 says that it is cut off.
func number(b []byte) (zigzag uint64, size int) {
	for i, c := range b {
		if i == 8 {
			return zigzag | uint64(c)<<56, 9
		}
		zigzag |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			return zigzag, i + 1
		}
	}
	return 0, 0
}

// decode reads any encoding, and says what is wrong with one.
func decode(text string) (*Histogram, error) {
	// The library allocates whatever the header asks for, so look at that first.
	g, err := peek(text)
	if err != nil {
		return nil, fmt.Errorf("lap: histogram encoding: %w", err)
	}
	decoded, err := hdrhistogram.Decode([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("lap: histogram encoding: %w", err)
	}
	h := &Histogram{geometry: g, counts: make([]uint64, g.counters)}
	h.Reset()
	for i, n := range decoded.Export().Counts {
		if n > 0 {
			h.restore(i, uint64(n))
		}
	}
	return h, nil
}

// restore adds to a counter, and what can be known from it of minimum, maximum and sum.
func (h *Histogram) restore(i int, n uint64) {
	low, width := h.bucket(i)
	h.counts[i] += n
	h.count += int64(n)
	h.min = min(h.min, low)
	h.max = max(h.max, low+width-1)
	productHigh, productLow := bits.Mul64(n, uint64(low+width/2))
	var carry uint64
	h.sumLow, carry = bits.Add64(h.sumLow, productLow, 0)
	h.sumHigh += int64(productHigh + carry)
}

// peek reads an encoding's header.
func peek(text string) (geometry, error) {
	raw, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil {
		return geometry{}, err
	}
	if len(raw) < 8 {
		return geometry{}, errors.New("shorter than its prefix")
	}
	z, err := zlib.NewReader(bytes.NewReader(raw[8:]))
	if err != nil {
		return geometry{}, err
	}
	header := make([]byte, headerBytes)
	if _, err := io.ReadFull(z, header); err != nil {
		return geometry{}, err
	}
	if binary.BigEndian.Uint32(header)&^0xf0 != cookie&^0xf0 {
		return geometry{}, errors.New("not HdrHistogram V2")
	}
	if binary.BigEndian.Uint64(header[32:]) != math.Float64bits(1) {
		return geometry{}, errors.New("values are scaled by a ratio other than 1")
	}
	return newGeometry(int64(binary.BigEndian.Uint64(header[16:])),
		int64(binary.BigEndian.Uint64(header[24:])), int(int32(binary.BigEndian.Uint32(header[12:]))))
}
