package cli

import (
	"slices"
	"testing"
)

func TestWithoutSecrets(t *testing.T) {
	tests := map[string]string{
		"https://me:hunter2@example.org/x":            "https://me:xxxxx@example.org/x",
		"--history=git:https://:hunter2@h/x.git#b":    "--history=git:https://:xxxxx@h/x.git#b",
		"postgres://team@h/d?password=hunter2&x=1":    "postgres://team@h/d?password=xxxxx&x=1",
		"http://h/?a=1&access_token=hunter2#x":        "http://h/?a=1&access_token=xxxxx#x",
		"Authorization: Bearer hunter2":               "Authorization: xxxxx",
		"-HX-Api-Key: hunter2":                        "-HX-Api-Key: xxxxx",
		"--header=cookie:session=hunter2":             "--header=cookie:xxxxx",
		"--header=Accept: text/html":                  "--header=Accept: text/html",
		"git:git@example.org:team/figures.git#b":      "git:git@example.org:team/figures.git#b",
		"http://127.0.0.1:8080/users/@me":             "http://127.0.0.1:8080/users/@me",
		"http://example.org:8080/?mail=me@home":       "http://example.org:8080/?mail=me@home",
		"return ngx.re.find(ngx.var.auth, [[a:b@c]])": "return ngx.re.find(ngx.var.auth, [[a:b@c]])",
		"ssh:web1,me@web2":                            "ssh:web1,me@web2",
		"-e":                                          "-e",
	}
	for arg, want := range tests {
		if got := withoutSecrets("x", arg); !slices.Equal(got, []string{"x", want}) {
			t.Errorf("%q: %q", arg, got)
		}
	}
}
