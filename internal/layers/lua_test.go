package layers

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// required finds the module names that a Lua file hands to require, also through pcall.
var required = regexp.MustCompile(`(pcall\s*\(\s*)?\brequire\s*[(,]?\s*["']([^"']*)["']`)

// luaOwn are the modules that LuaJIT and OpenResty's branch of it bring along.
var luaOwn = regexp.MustCompile(`^(ffi|bit|jit(\..+)?|string\.buffer|table\.(new|clear|isempty|isarray|nkeys|clone))$`)

// luaOptional exist inside nginx only: a module asks for them through pcall or inside a
// function, because each file of lua/moonlap loads under plain LuaJIT too.
var luaOptional = regexp.MustCompile(`^(ngx|resty)\.`)

// vendored is luacheck's, unchanged: moonlap.lint.syntax gives it a require of its own.
const vendored = "lua/moonlap/lint/luacheck/"

// TestLuaRequires holds lua/moonlap to its row: it requires itself and LuaJIT, nothing else.
func TestLuaRequires(t *testing.T) {
	seen := 0
	walk(t, ".lua", func(file string) {
		if !strings.HasPrefix(file, "lua/moonlap/") || strings.HasPrefix(file, vendored) {
			return
		}
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		seen++
		for _, message := range judgeLua(string(text)) {
			t.Errorf("%s %s", file, message)
		}
	})
	if seen == 0 {
		t.Error("no Lua file found under lua/moonlap")
	}
}

func TestJudgeLua(t *testing.T) {
	for code, allowed := range map[string]bool{
		`local ffi = require "ffi"`:                                    true,
		`require("moonlap.histogram").new()`:                           true,
		`local ok, p = pcall(require, "ngx.process")`:                  true,
		`local new = require'table.new'`:                               true,
		"local f = function()\n    return require('ngx.process')\nend": true,
		`local p = require "ngx.process"`:                              false,
		`local cjson = require("cjson")`:                               false,
		`pcall(require, "cjson")`:                                      false,
		`require "moonlapse"`:                                          false,
	} {
		if messages := judgeLua(code); (len(messages) == 0) != allowed {
			t.Errorf("judgeLua(%s) = %q, want allowed = %v", code, messages, allowed)
		}
	}
}

// judgeLua says what is wrong with the requires of a Lua source. An indented line is taken
// for the inside of a function.
func judgeLua(source string) (messages []string) {
	for line := range strings.Lines(source) {
		indented := strings.HasPrefix(line, " ")
		for _, match := range required.FindAllStringSubmatch(line, -1) {
			protected, name := match[1] != "", match[2]
			switch {
			case name == "moonlap" || strings.HasPrefix(name, "moonlap.") || luaOwn.MatchString(name):
			case luaOptional.MatchString(name) && (protected || indented):
			case luaOptional.MatchString(name):
				messages = append(messages, "requires "+name+" on loading, which is in nginx only: "+
					"ask for it with pcall or inside the function that needs it")
			default:
				messages = append(messages, "requires "+name+": lua/moonlap stands on itself and LuaJIT alone")
			}
		}
	}
	return messages
}
