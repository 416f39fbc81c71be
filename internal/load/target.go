package load

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
)

// Target reads a URL that load can be put on, and fills in what wrk's users leave out.
func Target(text string) (*url.URL, error) {
	if !strings.Contains(text, "://") {
		return nil, fmt.Errorf("%q is no URL: it begins with http:// or https://", text)
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%q is no URL: %w", text, errors.Unwrap(err))
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "ws" && u.Scheme != "wss":
		return nil, fmt.Errorf("%s: load speaks http and https, not %s", text, u.Scheme)
	case u.Hostname() == "":
		return nil, fmt.Errorf("%s has no host", text)
	case u.User != nil:
		return nil, fmt.Errorf("%s: name and password go into a header: -H 'Authorization: …'", text)
	}
	if port := u.Port(); port != "" {
		if _, err := net.LookupPort("tcp", port); err != nil {
			return nil, fmt.Errorf("%s: %s is no port", text, port)
		}
	}
	if u.Path == "" {
		u.Path = "/"
	}
	return u, nil
}

// portOf is the port that a URL means.
func portOf(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https" || u.Scheme == "wss":
		return "443"
	}
	return "80"
}

// Resolve looks a URL's host up.
func Resolve(ctx context.Context, u *url.URL) ([]string, error) {
	ips, err := net.DefaultResolver.LookupHost(ctx, u.Hostname())
	if err != nil {
		var dns *net.DNSError
		if errors.As(err, &dns) && dns.IsNotFound {
			return nil, fmt.Errorf("the host %s is not known: %s", u.Hostname(), u)
		}
		return nil, fmt.Errorf("the host %s cannot be looked up: %w", u.Hostname(), err)
	}
	var addresses []string
	for _, ip := range ips {
		addresses = append(addresses, net.JoinHostPort(ip, portOf(u)))
	}
	return addresses, nil
}

// ParseHeader reads "Name: value", as -H takes it.
func ParseHeader(text string) ([2]string, error) {
	name, value, ok := strings.Cut(text, ":")
	name = strings.TrimSpace(name)
	if !ok || name == "" || strings.ContainsAny(name, " \t\r\n") || strings.ContainsAny(value, "\r\n\x00") {
		return [2]string{}, fmt.Errorf("a header such as 'Name: value', not %q", text)
	}
	return [2]string{name, strings.TrimSpace(value)}, nil
}

// ParseHeaders reads a file with a header a line; empty lines and those that begin with # are left out.
func ParseHeaders(text string) (list [][2]string, err error) {
	for number, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		h, err := ParseHeader(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number+1, err)
		}
		list = append(list, h)
	}
	return list, nil
}
