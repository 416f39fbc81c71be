package load

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Listeners are the processes of this machine that listen at any of the addresses, workers and their master.
// Where none does, or it cannot be seen, there are none.
func Listeners(addresses []string) []int {
	inodes := map[string]bool{}
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		f, err := os.Open(file)
		if err != nil {
			continue
		}
		for _, inode := range listening(f, addresses) {
			inodes["socket:["+inode+"]"] = true
		}
		f.Close()
	}
	if len(inodes) == 0 {
		return nil
	}
	var pids []int
	processes, _ := filepath.Glob("/proc/[0-9]*")
	for _, process := range processes {
		pid, err := strconv.Atoi(filepath.Base(process))
		if err != nil || pid == os.Getpid() {
			continue
		}
		files, _ := os.ReadDir(process + "/fd")
		for _, f := range files {
			if to, err := os.Readlink(filepath.Join(process, "fd", f.Name())); err == nil && inodes[to] {
				pids = append(pids, pid)
				break
			}
		}
	}
	slices.Sort(pids)
	return pids
}

// listening reads the sockets in a file like /proc/net/tcp that listen at one of the addresses, or at all of the port.
func listening(f *os.File, addresses []string) (inodes []string) {
	const listen = "0A" // TCP_LISTEN
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 10 || fields[3] != listen {
			continue
		}
		ip, port, ok := socketAddress(fields[1])
		if !ok {
			continue
		}
		for _, a := range addresses {
			host, wanted, err := net.SplitHostPort(a)
			if err != nil || wanted != strconv.Itoa(port) {
				continue
			}
			if ip.IsUnspecified() || ip.Equal(net.ParseIP(host)) {
				inodes = append(inodes, fields[9])
			}
		}
	}
	return inodes
}

// socketAddress reads "0100007F:1F90": words of the address in the machine's order of bytes, which is little-endian here.
func socketAddress(text string) (net.IP, int, bool) {
	host, port, ok := strings.Cut(text, ":")
	raw, err := hex.DecodeString(host)
	number, err2 := strconv.ParseUint(port, 16, 16)
	if !ok || err != nil || err2 != nil || len(raw)%4 != 0 || len(raw) == 0 {
		return nil, 0, false
	}
	for i := 0; i < len(raw); i += 4 {
		slices.Reverse(raw[i : i+4])
	}
	return net.IP(raw), int(number), true
}

// Family is a process and its children, as an nginx master with its workers.
func Family(pid int) []int {
	list, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return []int{pid}
	}
	pids := []int{pid}
	for field := range strings.FieldsSeq(string(list)) {
		if child, err := strconv.Atoi(field); err == nil {
			pids = append(pids, child)
		}
	}
	return pids
}
