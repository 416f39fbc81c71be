package memory

import (
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"
	"unsafe"
)

// A Space gives out large arrays: of memory that is checked before it is taken, or of a file. They are given
// back at once by Release, and all that are left by Close. The zero Space, and nil, take memory as Go does.
//
// A file has no name from the beginning, so nothing of it stays behind, however this program ends. What is
// read and written there is in the page cache, which the kernel takes back when memory is short.
type Space struct {
	Folder  string // of the file; "": in memory
	Checked bool   // memory is taken only where it can be spared
	PID     int    // process that is looked at: what it pays for is not taken either; 0: none

	// Progress is called with what is being done, where it is set.
	Progress func(what string)

	buffer []byte // of Fill

	lock  sync.Mutex
	held  map[unsafe.Pointer]*mapping // by first byte
	tight bool                        // there is less memory than the files have bytes
	done  chan struct{}               // ends the writing of what has changed; nil: it was not begun
}

// Numbers are what an array can be of: no pointers, which Go's collector would have to see.
type Numbers interface {
	~uint8 | ~int32 | ~uint32 | ~int64 | ~uint64
}

// failure is the panic of Make, which Run turns into an error.
type failure struct{ err error }

// Run runs work that makes and uses arrays. That there is no memory or no space on the disk for one, or that
// the disk fails under one, is the error.
func Run(work func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		switch cause := recover().(type) {
		case nil:
		case failure:
			err = cause.err
		case interface{ Addr() uintptr }: // runtime.Error of a fault
			err = fmt.Errorf("a file that was mapped cannot be read or written any more: the disk failed, or the file was cut")
		default:
			panic(cause)
		}
	}()
	return work()
}

// Say tells what is being done.
func (s *Space) Say(what string) {
	if s != nil && s.Progress != nil {
		s.Progress(what)
	}
}

// Make makes an array of zeros that is used in no order. Such an array of a file takes long where memory is short, so
// it lies in memory even where there is a folder, as long as that leaves as much to spare. It is to be called within Run.
func Make[T Numbers](s *Space, n int) []T { return made[T](s, n, false) }

// Long is Make for an array that is gone through from one end to the other. It lies in a file where there is a folder.
func Long[T Numbers](s *Space, n int) []T { return made[T](s, n, true) }

func made[T Numbers](s *Space, n int, long bool) []T {
	if s == nil || n == 0 {
		return make([]T, n)
	}
	b, err := s.take(int64(n)*int64(unsafe.Sizeof(*new(T))), long)
	if err != nil {
		panic(failure{err})
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&b[0])), n)
}

// Filled makes an array of one value.
func Filled[T Numbers](s *Space, n int, value T) []T {
	all := Make[T](s, n)
	for i := range all {
		all[i] = value
	}
	return all
}

// Scattered reports that an array that was long is used in no order from now on.
func Scattered[T Numbers](s *Space, array []T) {
	if s == nil || cap(array) == 0 {
		return
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	if m := s.held[unsafe.Pointer(unsafe.SliceData(array))]; m != nil {
		m.long = false
		m.advise()
	}
}

// Release gives an array back, which nothing may use any more.
func Release[T Numbers](s *Space, arrays ...[]T) {
	for _, a := range arrays {
		if s != nil && cap(a) > 0 {
			s.give(unsafe.Pointer(unsafe.SliceData(a)))
		}
	}
}

// Push appends to an array that was made with room for it, or makes more room.
func Push[T Numbers](s *Space, all []T, value T) []T {
	if len(all) < cap(all) {
		all = all[:len(all)+1]
		all[len(all)-1] = value
		return all
	}
	const least = 1 << 10
	return append(grown(s, all, max(least, cap(all)+cap(all)/2)), value)
}

// grown is an array with more room.
func grown[T Numbers](s *Space, all []T, room int) []T {
	if s == nil {
		return append(make([]T, 0, room), all...)
	}
	size := int64(room) * int64(unsafe.Sizeof(*new(T)))
	var b []byte
	var err error
	if cap(all) == 0 {
		b, err = s.take(size, true)
	} else {
		b, err = s.grow(unsafe.Pointer(unsafe.SliceData(all)), size)
	}
	if err != nil {
		panic(failure{err})
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&b[0])), room)[:len(all)]
}

// take maps zeros.
func (s *Space) take(size int64, long bool) ([]byte, error) {
	folder := s.Folder
	if folder != "" && !long && s.Checked && (System{}).Check(Need{Own: 2 * size, PID: s.PID}) == nil {
		folder = ""
	} else if err := s.Check(size); err != nil {
		return nil, err
	}
	m, err := newMapping(folder, size, long)
	if err != nil {
		return nil, s.explain(err, size)
	}
	s.hold(m)
	s.watch(size)
	return m.bytes, nil
}

func (s *Space) grow(at unsafe.Pointer, size int64) ([]byte, error) {
	s.lock.Lock()
	m := s.held[at]
	s.lock.Unlock()
	more := size - int64(len(m.bytes))
	if err := s.Check(more); err != nil {
		return nil, err
	}
	s.lock.Lock()
	delete(s.held, at)
	s.lock.Unlock()
	err := m.grow(size)
	s.hold(m) // as it was, where it did not grow
	if err != nil {
		return nil, s.explain(err, more)
	}
	return m.bytes, nil
}

func (s *Space) hold(m *mapping) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.held == nil {
		s.held = map[unsafe.Pointer]*mapping{}
	}
	s.held[unsafe.Pointer(&m.bytes[0])] = m
}

func (s *Space) give(at unsafe.Pointer) {
	s.lock.Lock()
	m := s.held[at]
	delete(s.held, at)
	s.lock.Unlock()
	if m != nil {
		m.close()
	}
}

// writeEvery is how often what has changed is written where memory is tight. The kernel itself would wait until it
// needs the memory, and would then have whoever needs it wait for the disk: maybe the process that is looked at.
const writeEvery = 50 * time.Millisecond

// watch begins to write what changes in the files as soon as they do not fit into memory.
func (s *Space) watch(size int64) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.Folder == "" || s.tight || !s.Checked || (System{}).Check(Need{Own: size, PID: s.PID}) == nil {
		return
	}
	s.tight = true
	s.done = make(chan struct{})
	go func(done chan struct{}) {
		every := time.NewTicker(writeEvery)
		defer every.Stop()
		for {
			select {
			case <-done:
				return
			case <-every.C:
			}
			s.lock.Lock()
			for _, m := range s.held {
				m.write()
			}
			s.lock.Unlock()
		}
	}(s.done)
}

// Fill has read write into a part of an array, and returns what it does. Of a file it writes into a buffer: a page
// that is written in the mapping is read from the disk first. Parts are to follow one another. Where memory is tight,
// Fill waits until what was written before is on the disk, and gives back its memory.
func (s *Space) Fill(array []byte, from, to int, read func(into []byte) (int, error)) (int, error) {
	var m *mapping
	var tight bool
	if s != nil && len(array) > 0 {
		s.lock.Lock()
		m, tight = s.held[unsafe.Pointer(&array[0])], s.tight
		s.lock.Unlock()
	}
	if m == nil || m.file == nil {
		return read(array[from:to])
	}
	if len(s.buffer) < to-from {
		s.buffer = make([]byte, to-from)
	}
	n, err := read(s.buffer[:to-from])
	if n <= 0 {
		return n, err
	}
	if _, err := m.file.WriteAt(s.buffer[:n], int64(from)); err != nil {
		panic(failure{s.explain(err, int64(len(array)))})
	}
	if tight {
		m.drop(from, from+n)
	}
	return n, err
}

// Ahead reports that a part of an array will be gone through soon: of a file, it is read in one piece.
func (s *Space) Ahead(part []byte) {
	if s != nil && s.Folder != "" && len(part) > 0 {
		ahead(part)
	}
}

// Close gives back all arrays, which nothing may use any more.
func (s *Space) Close() error {
	if s == nil {
		return nil
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.done != nil {
		close(s.done)
		s.done = nil
	}
	var errs []error
	for at, m := range s.held {
		errs = append(errs, m.close())
		delete(s.held, at)
	}
	return errors.Join(errs...)
}

// Check reports whether arrays of N bytes can be made. The error is a ShortError, or a FullError.
func (s *Space) Check(size int64) error { return s.CheckAll(size, 0) }

// CheckAll does, where the process that is looked at takes N bytes, too.
func (s *Space) CheckAll(size, theirs int64) error {
	if s == nil {
		return nil
	}
	n := Need{Own: size, Theirs: theirs, PID: s.PID}
	if s.Folder != "" {
		isMemory, err := checkFolder(s.Folder, size)
		if err != nil {
			return err
		}
		if !isMemory {
			n.Own = 0
		}
	}
	const unchecked = 1 << 20
	if !s.Checked || n.Own+n.Theirs < unchecked {
		return nil
	}
	return System{}.Check(n)
}

// A FullError says that there is too little space on a disk.
type FullError struct {
	Folder       string
	Needed, Free int64 // bytes
}

func (e *FullError) Error() string {
	return fmt.Sprintf("about %s are needed in %s, and the disk has %s left: choose another folder, or make room",
		Size(e.Needed), e.Folder, Size(e.Free))
}
