package memory

// Buckets hold records of a key and two numbers, and give them back in order of ranges of keys: who goes through them
// needs arrays for one range at a time. They are written, and read, from one end to the other: that may be a file.
type Buckets struct {
	space  *Space
	width  int        // keys of a bucket
	blocks [][]uint32 // by bucket: where its blocks are in all
	filled []int      // by bucket: numbers in its last block
	all    []uint32
}

const (
	mostBuckets = 256
	leastKeys   = 1 << 16          // of a bucket: fewer are no gain
	recordSize  = 3                // numbers
	blockSize   = recordSize << 12 // numbers: large enough for a disk
)

// NewBuckets are for keys from 0 to below a number.
func NewBuckets(s *Space, keys int) *Buckets {
	b := &Buckets{space: s, width: max(leastKeys, (keys+mostBuckets-1)/mostBuckets)}
	n := keys/b.width + 1
	b.blocks, b.filled = make([][]uint32, n), make([]int, n)
	return b
}

// Add adds a record. To be called within Run.
func (b *Buckets) Add(key, x, y uint32) {
	n := int(key) / b.width
	at := b.filled[n]
	if len(b.blocks[n]) == 0 || at == blockSize {
		from := len(b.all)
		if from+blockSize > cap(b.all) {
			b.all = grown(b.space, b.all, max(from+blockSize, from+from/2))
		}
		b.all = b.all[:from+blockSize]
		b.blocks[n], at = append(b.blocks[n], uint32(from/blockSize)), 0
	}
	blocks := b.blocks[n]
	record := b.all[int(blocks[len(blocks)-1])*blockSize+at:][:recordSize]
	record[0], record[1], record[2] = key, x, y
	b.filled[n] = at + recordSize
}

// Each goes through the buckets in order. records calls found with the records of one, in the order in which they were
// added; its keys are from a number to below another.
func (b *Buckets) Each(bucket func(from, to int, records func(found func(key, x, y uint32)))) {
	for n, blocks := range b.blocks {
		bucket(n*b.width, (n+1)*b.width, func(found func(key, x, y uint32)) {
			for i, block := range blocks {
				records := b.all[int(block)*blockSize:][:blockSize]
				if i == len(blocks)-1 {
					records = records[:b.filled[n]]
				}
				for ; len(records) > 0; records = records[recordSize:] {
					found(records[0], records[1], records[2])
				}
			}
		})
	}
}
