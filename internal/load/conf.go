package load

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/moonlap/moonlap/internal/nginxconf"
)

// foreground rewrites a configuration for a server that we start: in the foreground, its PID file in a folder of ours, and,
// where move is given, with other places to listen. Lines keep their numbers. What nginx refuses stays as it is, for nginx to say.
func foreground(text, pidFile string, move func(address string) string) string {
	type change struct {
		nginxconf.Span
		new string
	}
	var changes []change
	conf := nginxconf.Parse([]byte(text))
	for _, d := range conf.Directives {
		if d.Name == "daemon" || d.Name == "pid" {
			changes = append(changes, change{d.Span, ""})
		}
	}
	if move != nil {
		for _, address := range listens(conf) {
			changes = append(changes, change{address.Span, move(address.Text)})
		}
	}
	slices.SortFunc(changes, func(a, b change) int { return cmp.Compare(a.From, b.From) })
	out := fmt.Sprintf("daemon off; pid %q; ", pidFile)
	last := 0
	for _, c := range changes {
		out += text[last:c.From] + c.new
		last = c.To
	}
	return out + text[last:]
}

// listens are the places at which a configuration listens, without what it includes: 8080, 127.0.0.1:8080, unix:/path.
func listens(conf *nginxconf.Config) (addresses []nginxconf.Arg) {
	conf.Each(func(server *nginxconf.Directive) {
		if server.Name != "server" {
			return
		}
		for _, d := range server.Block {
			if d.Name == "listen" && len(d.Args) > 0 {
				addresses = append(addresses, d.Args[0])
			}
		}
	})
	return addresses
}

// portOfListen is the port of "8080", "*:8080" and the like; "" of a unix socket. An address alone means port 80.
func portOfListen(address string) string {
	if strings.HasPrefix(address, "unix:") {
		return ""
	}
	if _, port, err := net.SplitHostPort(address); err == nil {
		return port
	}
	if strings.Trim(address, "0123456789") == "" {
		return address
	}
	return "80"
}
