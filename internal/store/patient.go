package store

import (
	"context"
	"net"
	"time"
)

// silence is how long nothing may be heard of a server until it is given up.
const silence = 15 * time.Second

// A patientConn is a connection that ends when the other side is silent for too long, whatever waits for it.
type patientConn struct {
	net.Conn
	silence time.Duration
}

// dial connects to a server that may be silent for so long.
func dial(ctx context.Context, network, address string, silence time.Duration) (net.Conn, error) {
	c, err := (&net.Dialer{Timeout: silence}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &patientConn{c, silence}, nil
}

func (c *patientConn) Read(b []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(c.silence)); err != nil {
		return 0, err
	}
	return c.Conn.Read(b)
}

func (c *patientConn) Write(b []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(c.silence)); err != nil { // of a read that waits, too
		return 0, err
	}
	return c.Conn.Write(b)
}
