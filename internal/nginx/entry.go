package nginx

import (
	"hash/crc32"
	"time"

	"github.com/moonlap/moonlap/internal/process"
)

const (
	// ngx_http_lua_shdict_node_t lies over a node of nginx's trees (key, left, right, parent) from its colour
	// on: color, value_type, key_len, value_len, expires, queue (prev, next), user_flags, data.
	nodeColor   = 0x20
	nodeType    = 0x21
	nodeKeyLen  = 0x22
	nodeLen     = 0x24
	nodeExpires = 0x28
	nodeQueue   = 0x30
	nodeData    = 0x44
)

// Types of values, as Lua numbers them; lists are the dictionary's own.
var valueTypes = map[byte]string{1: "boolean", 3: "number", 4: "string", listType: "list"}

const listType = 5

// An Entry is one of a dictionary's.
type Entry struct {
	Key  string `json:"key"`
	Type string `json:"type"` // of its value: string, number, boolean, list
	// Bytes are the value's; of a list, whose elements are pieces of their own, the number of elements.
	Bytes uint64 `json:"value_bytes"`
	// Left is the time until it expires, below zero since when it has; nil: never.
	Left *time.Duration `json:"expires_in_ns"`

	address, hash, prev, next uint64
	expires                   int64
	room                      uint64 // that it takes, before rounding up
}

// Expired reports that it is kept although its time is over.
func (e Entry) Expired() bool { return e.Left != nil && *e.Left <= 0 }

// entry decodes a piece of memory, b, which may be anything: an entry's hash must be that of its key.
func entry(b []byte, at uint64, now time.Time) (e Entry, ok bool) {
	if len(b) < nodeData {
		return Entry{}, false
	}
	e = Entry{address: at, hash: le64(b), prev: le64(b[nodeQueue:]), next: le64(b[nodeQueue+8:]), expires: int64(le64(b[nodeExpires:]))}
	keyLen, valueLen := uint64(b[nodeKeyLen])|uint64(b[nodeKeyLen+1])<<8, le64(b[nodeLen:])&(1<<32-1)
	e.Type, e.Bytes, e.room = valueTypes[b[nodeType]], valueLen, nodeData+keyLen+valueLen
	if b[nodeType] == listType {
		e.room = nodeData + keyLen + 16 // the list's ends
	}
	if e.Type == "" || b[nodeColor] > 1 || e.hash>>32 != 0 || keyLen == 0 || nodeData+keyLen > uint64(len(b)) {
		return Entry{}, false
	}
	key := b[nodeData : nodeData+keyLen]
	if uint64(crc32.ChecksumIEEE(key)) != e.hash {
		return Entry{}, false
	}
	e.Key = string(key)
	e.left(now)
	return e, true
}

// left works out how long the entry has left.
func (e *Entry) left(now time.Time) {
	if e.expires == 0 {
		return
	}
	left := time.UnixMilli(e.expires).Sub(now)
	e.Left = &left
}

// entryAt reads the entry at an address; its key may be up to 64 kB long.
func entryAt(r *process.Reader, at uint64, now time.Time) (Entry, bool) {
	head := r.Bytes(at, nodeData)
	if head == nil {
		return Entry{}, false
	}
	keyLen := int(head[nodeKeyLen]) | int(head[nodeKeyLen+1])<<8
	return entry(append(head, r.Bytes(at+nodeData, keyLen)...), at, now)
}
