package sleeps

import "strings"

// Advice is what to use in nginx instead of a function that puts the worker to sleep.
func Advice(function string) string {
	const luaSocket = "use cosockets (ngx.socket.tcp) instead of LuaSocket, and ngx.sleep instead of socket.sleep"
	const names = "let cosockets look names up, which nginx's directive resolver makes them do without blocking, or use lua-resty-dns"
	for _, known := range []struct{ prefix, instead string }{
		{"os.execute", "use ngx.pipe (lua-resty-core), which runs programs without blocking"},
		{"io.popen", "use ngx.pipe (lua-resty-core), which runs programs without blocking"},
		{"io.", "read files once, in init_by_lua, or in ngx.run_worker_thread; log with ngx.log or a cosocket"},
		{"file", "read files once, in init_by_lua, or in ngx.run_worker_thread; log with ngx.log or a cosocket"},
		{"socket.", luaSocket},
		// Functions that LuaSocket's library exports.
		{"buffer_meth_", luaSocket}, {"inet_try", luaSocket}, {"socket_", luaSocket},
		{"getaddrinfo", names}, {"gethostbyname", names},
	} {
		if strings.HasPrefix(function, known.prefix) {
			return known.instead
		}
	}
	return "use a call that gives way to the event loop: cosockets for the network, ngx.sleep to wait, " +
		"ngx.pipe for programs, ngx.run_worker_thread for work that has to block"
}
