package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/moonlap/moonlap/internal/files"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/runtime"
)

type runOptions struct {
	code               []string
	nginx              string
	httpConf, mainConf []string
	resolver, jit      string
}

func newRunCommand(sys Sys) *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run [flags] FILE|- [ARGS]",
		Short: "Run a plain Lua script in a real nginx worker",
		Long: `Run a plain Lua script in a real nginx worker, in a timer's context: with cosockets,
ngx.sleep, light threads, shared dicts and all else that nginx offers there.

The script has stdin, stdout, stderr and the table arg as under luajit; print,
io.write, ngx.say and ngx.print all write to stdout. It ends when its main chunk and
its light threads have ended; timers that have not fired by then are dropped. FILE
"-" reads the script from stdin. nginx listens on a private unix socket only and has
no resolver unless --resolver names one.

The exit status is the script's own: that of os.exit(n) or ngx.exit(n), 1 after an
error, 141 when it writes to a stdout that nobody reads any more; HTTP statuses in
ngx.exit count as 0 (200 to 299) or 1.`,
		Example: `  moonlap run job.lua one two
  moonlap run -e 'ngx.sleep(0.1) ngx.say(ngx.now())'
  moonlap run --http-conf 'lua_shared_dict cats 1m;' cats.lua
  moonlap run --resolver 127.0.0.53 fetch.lua http://example.org/`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runScript(cmd.Context(), sys, o, args)
		},
	}
	f := cmd.Flags()
	f.SetInterspersed(false) // what follows FILE is the script's
	f.StringArrayVarP(&o.code, "eval", "e", nil, "run this `CODE` instead of a file; may be repeated")
	f.StringVar(&o.nginx, "nginx", "", "`PATH` of the nginx to use")
	f.StringArrayVar(&o.httpConf, "http-conf", nil, "`DIRECTIVES` for nginx's http block; @FILE includes a file")
	f.StringArrayVar(&o.mainConf, "main-conf", nil, "`DIRECTIVES` for nginx's top level; @FILE includes a file")
	f.StringVar(&o.resolver, "resolver", "", "`ADDRESS` of the name server for cosockets; there is none by default")
	f.StringVarP(&o.jit, "jit", "j", "", "off, or jit.opt `FLAGS`: hotloop=10,-fold")
	return cmd
}

func runScript(ctx context.Context, sys Sys, o runOptions, args []string) error {
	job := runtime.Job{Mode: runtime.ModeRun, Code: o.code, JIT: o.jit, Args: args}
	stdin := sys.Stdin
	switch {
	case len(o.code) > 0: // all arguments are the script's
	case len(args) == 0:
		return usageErrorf("which script? Or -e CODE")
	case args[0] == "-":
		const mostScript = 64 << 20
		code, err := io.ReadAll(files.Limit(sys.Stdin, "the script on stdin", mostScript))
		if err != nil {
			return fmt.Errorf("read the script from stdin: %w", err)
		}
		job.Code, job.Name, job.Args = []string{string(code)}, "=stdin", args[1:]
		stdin = nil // it is at its end
	default:
		if err := readable(args[0]); err != nil {
			return err
		}
		job.File, job.Args = args[0], args[1:]
	}
	if o.resolver != "" {
		o.httpConf = append([]string{"resolver " + o.resolver + ";"}, o.httpConf...)
	}
	nginx, err := runtime.Find(ctx, runtime.Nginx, runtime.Options{Nginx: o.nginx, Path: sys.Getenv("PATH")})
	if err != nil {
		return err
	}
	process, err := runtime.Start(ctx, runtime.Spec{
		Job: job, Runtime: nginx, HTTPConf: o.httpConf, MainConf: o.mainConf,
		Stdin: stdin, Stdout: sys.Stdout, Stderr: sys.Stderr,
	})
	if err != nil {
		return err
	}
	var fault *record.Fault
	var exit record.Exit
	for line := range process.Lines() {
		switch line := line.(type) {
		case record.Fault:
			fault = &line
		case record.Exit:
			exit = line
		}
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case fault != nil:
		return fmt.Errorf("%s", fault.Text)
	case exit.Status != 0:
		return exitWith(exit.Status, nil)
	}
	return nil
}

// readable tells early, and in plain words, of a script that can't be read.
func readable(file string) error {
	f, err := files.Open(file)
	if err != nil {
		return err
	}
	return f.Close()
}
