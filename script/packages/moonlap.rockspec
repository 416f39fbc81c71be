rockspec_format = "3.0"
package = "moonlap"
version = "@VERSION@"
source = {
    url = "https://github.com/moonlap/moonlap/releases/download/v@RELEASE@/@FOLDER@.tar.gz",
    dir = "@FOLDER@",
}
description = {
    summary = "Clock, histograms, stopwatches, benchmarks and libuv for LuaJIT and OpenResty",
    detailed = [[
The Lua modules of Moonlap, the performance workbench for LuaJIT and OpenResty. They take LuaJIT alone;
moonlap.uv takes libuv too, and for sockets the C library that Moonlap's packages have.]],
    homepage = "https://github.com/moonlap/moonlap",
    license = "MIT",
}
dependencies = { "lua == 5.1" } -- LuaJIT
build = {
    type = "builtin",
    modules = {
@MODULES@
    },
}
