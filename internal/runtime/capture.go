package runtime

import "github.com/moonlap/moonlap/internal/record"

// headSize is how much of an output is kept, in bytes.
const headSize = 4096

// A capture keeps the head of an output and counts the rest, so that code that
// prints a gigabyte costs no memory.
type capture struct {
	head  []byte
	total int64
}

func (c *capture) Write(b []byte) (int, error) {
	c.total += int64(len(b))
	if room := headSize - len(c.head); room > 0 {
		c.head = append(c.head, b[:min(room, len(b))]...)
	}
	return len(b), nil
}

// output is nil when nothing was printed.
func (c *capture) output() *record.Output {
	if c == nil || c.total == 0 {
		return nil
	}
	return &record.Output{Bytes: c.total, Head: string(c.head)}
}
