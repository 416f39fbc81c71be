--- The contract with Go: the job that comes in, the lines that go out.
--
-- Go starts one process, `luajit` with `require("moonlap.load").main()`. The job is Lua source in
-- the environment variable `MOONLAP_JOB`. The lines are JSON objects on file descriptor 3. What
-- scripts print goes to stdout. SIGTERM and SIGINT end the run early: the last slices and
-- `load_done` still come. Times are nanoseconds, sizes bytes; threads, sides, slices and blocks
-- count from 0.
--
-- **Job**
--
--     { kind = "load",
--       sides = { {
--         name = "A", url = "http://host:80/path",
--         addresses = {"127.0.0.1:80", "[::1]:80"},  -- resolved by Go; or unix = "/path"
--         headers = {{"Name", "value"}, …}, method = "GET",
--         body = "…" or body_file = "/path",
--         script = "/path.lua", args = {"…"},        -- both optional
--         pids = {4711, …},                          -- of the server, optional: see server_cpu_ns
--         tls = { insecure = false, sni = "name", ca = "/path", cert = "/path", key = "/path",
--                 resume = true },                   -- of this side; else the job's
--       }, … },
--       threads = 1,
--       connections = 32,         -- of all threads together, per side
--       duration_ns = 10e9,       -- without warm-up; all sides together
--       requests = 1000,          -- optional: stop after as many, per side
--       rate = 2000,              -- optional: open loop, requests a second per side
--       arrivals = "constant",    -- or "poisson"
--       stages = {{rate = 100, duration_ns = 1e9, from = 0}, …},  -- optional, in place of rate:
--                                 -- steps; with `from` a ramp from there to `rate`
--       slice_ns = 100e6, warmup_ns = 0, timeout_ns = 2e9, seed = 1,
--       protocol = "http1",       -- or "h2", "websocket"
--       pipeline = 1,             -- requests a batch (http1), streams a connection (h2)
--       tls = { … },              -- of all sides
--       memory_bytes = 0,         -- most private memory of a thread; 0: no limit
--       hang_ns = 5e9 }           -- a hook that takes longer ends its thread
--
-- The kernel takes a job of at most 128 KiB: large bodies are files.
--
-- A run has one side, or several. With one, slices only cut the time in pieces; a response
-- belongs to the slice in which it was complete. With several, the sides take turns slice by
-- slice: all threads begin a slice together, stop sending at its end, and wait until all that is
-- in flight has an answer or a timeout (`drain_ns`, part of `ns`). A *block* is a balanced group
-- of slices: A B B A or B A A B, with n sides a random order and its reverse. With one side,
-- block = slice.
--
-- **Lines**
--
-- `load_thread`, one a thread, when it is connected and ready: `thread`, `pid`, `vm`
-- (jit.version), `connections` (per side), `compiled` (false where the JIT is off).
--
-- `load_begin`, one, when the first slice begins: `at_ns` (CLOCK_MONOTONIC; `at_ns` of slices
-- counts from here).
--
-- `load_slice`, one a thread and slice:
--
-- - `thread`, `side`, `slice`, `block`, `warmup` (true in the warm-up, else absent)
-- - `at_ns`, `ns`, `drain_ns`: begin, length with the drain, the drain alone
-- - `requests` sent, `responses` complete (with any status), `bytes` received
-- - `offered`: requests that became due (open loop); `unsent`: due at the end of the run and not
--   sent, each of which is in `latency` with the time it had waited until then; `late`: sent more
--   than 1 ms after they were due
-- - `errors`: counts by kind, absent where 0. `refused`, `connect` (other failures to connect),
--   `reset` (the server closed in the midst of a response, or before it), `timeout`, `tls`,
--   `protocol`, `check` (the script's check() said no), `status` (≥ 400; such a response is also
--   in `responses`), `script` (a hook threw or returned no request), `read`, `write`
-- - `cpu_ns`: of this thread in the slice, user and system
-- - `server_cpu_ns`: of the side's `pids` together, by thread 0 alone; absent where it cannot be
--   read
-- - `sum_latency_ns`: of `raw`, exact; X·R/N = sum_latency_ns / (ns · connections · pipeline)
-- - `lag_p99_ns`, `lag_max_ns`: of the loop. A turn's lag is the time from the return of
--   epoll_wait until its last event is handled; with a rate, a request's lag is the time from
--   when it was due until it was sent, where a connection was free
-- - `raw`: HdrHistogram V2 in base64, from the first byte sent to the last byte received.
--   Timeouts are in it
-- - `latency`: the same, corrected. Open loop: from the due time. Closed loop: a response that
--   took longer than the *expected interval* stands for the requests that its connection would
--   have sent meanwhile; they are added as if sent one interval after the other (as
--   HdrHistogram's correction does)
-- - `expected_ns`: that interval (closed loop): the mean of the fastest 99 % of all raw latencies
--   so far, plus delay()
-- - `connects`: connections made; `connect_ns`: the sum of their times, with the TLS handshake;
--   `resumed`: TLS sessions resumed
-- - `tags`: { {name =, count =, errors =, latency =}, … }, absent where the script has none
--
-- `load_error`, one a thread, side, kind and text, at the end, the ten most frequent of each
-- thread: `thread`, `side`, `kind` (as in `errors`), `text`, `count`.
--
-- `load_script`, when it happens, one a hook and text: `thread` (-1: the main state), `side`,
-- `hook` ("load", "setup", "init", "delay", "request", "response", "check", "done", …), `kind`
-- ("error", "exit", "hang", "memory", "crash"), `text`, `file`, `line`, `status` (of os.exit).
--
-- `load_done`, the last: `elapsed_ns` (without warm-up), `stop` ("duration", "requests",
-- "script", "interrupted", "error"), `threads_lost` (that ended before their time), `switches`
-- (involuntary context switches of all threads), `text` (why, where stop is "error"), `status`
-- (of os.exit in a script).
--
-- All histograms have the same buckets: lowest 64 ns, highest one hour, 3 digits.
-- @module moonlap.load.lines
local histogram = require "moonlap.histogram"

local _M = {}


--- An empty histogram with the buckets that all lines share.
function _M.histogram()
    return histogram.new { lowest = 64, highest = 3.6e12, digits = 3 }
end


return _M
