package nginx

import "github.com/moonlap/moonlap/internal/process"

// streams is where a connection of HTTP/2 (ngx_http_v2_connection_t) keeps its streams, each of which
// serves a request: in an array of lists of nodes. Offsets; 0: not found yet.
type streams struct {
	index  uint64 // of streams_index in the connection: pointer to that array
	stream uint64 // of stream in a node
}

const (
	http2Words   = 0x80 // of ngx_http_v2_connection_t that are searched
	nodeWords    = 0x10 // of ngx_http_v2_node_t
	nodeNext     = 0x08 // index: the next node of the same list
	mostLists    = 256  // entries of the array that are read
	mostStreams  = 1000 // of one connection; http2_max_concurrent_streams is 128 unless it is set
	usualStreams = 32   // entries that there are, unless http2_streams_index_size is set
	streamHTTP2  = 0x08 // connection of ngx_http_v2_stream_t, after request
	streamNode   = 0x10

	requestSignature  = 0x50545448 // "HTTP", the first field of every request
	requestConnection = 0x08
)

// EachStream calls look with each request of HTTP/2 that a connection serves, and with a function that tells
// whether it still does: those requests have connections of their own that are in no list. data is what
// [Nginx.EachConnection] tells of the connection; there is none where that serves something else.
func (n *Nginx) EachStream(connection, data uint64, look func(request uint64, serves func() bool)) {
	r := n.reader()
	if r.U64(data) != connection || r.Err != nil {
		return
	}
	if n.streams.index == 0 {
		n.streams = n.findStreams(data)
	}
	if n.streams.index == 0 {
		return
	}
	left := mostStreams
	for _, node := range n.nodes(r.U64(data + n.streams.index)) {
		for ; node != 0 && left > 0; left-- {
			if request, ok := n.stream(data, node, n.streams.stream); ok {
				look(request, func() bool {
					now, ok := n.stream(data, node, n.streams.stream)
					return ok && now == request
				})
			}
			r := n.reader()
			if node = r.U64(node + nodeNext); r.Err != nil {
				break
			}
		}
	}
}

// findStreams looks for the array among the words of a connection, and in a node for its stream. What is found
// points in a ring: the stream at its connection and its node, and at a request; and stands in its place.
func (n *Nginx) findStreams(http2 uint64) streams {
	for i, array := range words(n.reader(), http2, http2Words) {
		if array == 0 || array%8 != 0 || i == 0 {
			continue
		}
		for place, node := range n.nodes(array) {
			for at := uint64(0); node != 0 && at < nodeWords; at++ {
				if _, ok := n.stream(http2, node, 8*at); ok && n.placed(node, place, usualStreams) {
					return streams{8 * uint64(i), 8 * at}
				}
			}
		}
	}
	return streams{}
}

// placed reports whether a node of this number is in its place in an array of a size: nginx numbers the streams of
// clients 1, 3, 5, … (ngx_http_v2_index).
func (n *Nginx) placed(node uint64, place, size int) bool {
	r := n.reader()
	id := r.U64(node)
	return r.Err == nil && int(id>>1)&(size-1) == place
}

// nodes are the entries of an array of nodes; what lies behind its end has to be recognized.
func (n *Nginx) nodes(array uint64) []uint64 {
	r := n.reader()
	all := words(r, array, mostLists)
	if r.Err != nil {
		all = words(n.reader(), array, usualStreams)
	}
	return all
}

// stream reads the request of a node's stream.
func (n *Nginx) stream(http2, node, at uint64) (request uint64, ok bool) {
	if node%8 != 0 {
		return 0, false
	}
	r := &process.Reader{Memory: n.Memory}
	stream := r.U64(node + at)
	request = r.U64(stream)
	ok = stream != 0 && r.U64(stream+streamHTTP2) == http2 && r.U64(stream+streamNode) == node &&
		r.U32(request) == requestSignature && r.U64(r.U64(request+requestConnection)) == request
	return request, ok && r.Err == nil
}
