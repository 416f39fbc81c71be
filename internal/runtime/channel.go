package runtime

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/moonlap/moonlap/internal/record"
)

// readChannel reads the lines of one worker's channel to its end. A line that is
// none becomes a Fault, and reading goes on. What follows the last newline is
// dropped: a process that was cut off in the midst of a line says so by other means.
func readChannel(r io.Reader, in record.In, each func(record.Line)) {
	lines := bufio.NewReaderSize(r, 64<<10)
	for {
		b, err := readLine(lines, record.MaxLine)
		if err == io.EOF {
			return
		}
		var line record.Line
		if err == nil {
			line, err = record.DecodeLine(b)
		}
		switch {
		case errors.Is(err, record.ErrUnknownType):
		case err != nil:
			each(record.Fault{In: in, Case: -1, Kind: record.FaultChannel,
				Text: fmt.Sprintf("the record stream of the process is corrupt: %v", err)})
		default:
			each(line)
		}
	}
}

var errTooLong = fmt.Errorf("a line of more than %d bytes", record.MaxLine)

// readLine returns the next whole line; io.EOF stands for every end of the stream. Of
// a line longer than limit nothing is kept.
func readLine(r *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := r.ReadSlice('\n')
		if long = long || len(line)+len(part) > limit; long {
			line = nil
		} else {
			line = append(line, part...)
		}
		switch {
		case err == bufio.ErrBufferFull:
		case err != nil:
			return nil, io.EOF
		case long:
			return nil, errTooLong
		default:
			return line, nil
		}
	}
}
