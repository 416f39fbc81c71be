package main

import "strings"

// A script is a public one, where its users have it, and how it is run.
type script struct {
	Repo, Path string
	Args       []string
	Threads    int               // 1 unless said
	Files      map[string]string // what the script wants to find in its working directory
	Target     string            // of the URL, / unless said
	Still      bool              // it seeds from the clock, which stands still then
	AnyOrder   bool              // pairs() gives the order of parameters, so bytes are compared without theirs
}

func list() (all []script) {
	add := func(repo string, paths ...string) {
		for _, path := range paths {
			all = append(all, script{Repo: repo, Path: path})
		}
	}
	add("wg/wrk", "scripts/addr.lua", "scripts/auth.lua", "scripts/counter.lua", "scripts/delay.lua",
		"scripts/pipeline.lua", "scripts/post.lua", "scripts/report.lua", "scripts/stop.lua")
	all = append(all, script{Repo: "wg/wrk", Path: "scripts/setup.lua", Threads: 2})
	add("giltene/wrk2", "scripts/counter.lua", "scripts/report.lua", "scripts/setup.lua")
	all = append(all,
		script{Repo: "TechEmpower/FrameworkBenchmarks", Path: "toolset/wrk/pipeline.lua", Args: []string{"16"}},
		script{Repo: "TechEmpower/FrameworkBenchmarks", Path: "frameworks/Java/vertx-web/scripts/pipeline.lua",
			Args: []string{"8", "400"}},
		script{Repo: "timotta/wrk-scripts", Path: "multiplepaths.lua", Still: true,
			Files: map[string]string{"paths.txt": paths}},
		script{Repo: "kinvolk/wrk2", Path: "scripts/multiple-endpoints.lua", Still: true, Args: []string{"URL/a", "URL/b?c=d"}},
		script{Repo: "kinvolk/wrk2", Path: "scripts/cache-stresser.lua", Still: true,
			Target: "/127.0.0.1/", Args: []string{"http://127.0.0.1:PORT/127.0.0.1/a", "http://127.0.0.1:PORT/127.0.0.1/b"}},
		script{Repo: "kinvolk/wrk2", Path: "scripts/multi-server.lua", Still: true, Args: []string{"127.0.0.1", "1", "/a", "b"}},
		script{Repo: "vectorian-rs/wrk3", Path: "scripts/multiple-endpoints-prometheus-metrics.lua", Still: true,
			Files: map[string]string{"endpoints.lua": endpoints}},
	)
	const bench = "delimitrou/DeathStarBench"
	for _, path := range []string{
		"hotelReservation/wrk2/scripts/hotel-reservation/mixed-workload_type_1.lua",
		"mediaMicroservices/wrk2/scripts/media-microservices/compose-review.lua",
		"socialNetwork/wrk2/scripts/social-network/compose-post.lua",
		"socialNetwork/wrk2/scripts/social-network/mixed-workload.lua",
		"socialNetwork/wrk2/scripts/social-network/read-home-timeline.lua",
		"socialNetwork/wrk2/scripts/social-network/read-user-timeline.lua",
		"socialNetwork/wrk2/scripts/social-network-determinism/compose-post.lua",
		"socialNetwork/wrk2/scripts/social-network-determinism/mixed-workload.lua",
	} {
		all = append(all, script{Repo: bench, Path: path, Still: true})
	}
	all = append(all, script{Repo: bench, Path: "hotelReservation/wrk2/scripts/multiplepaths.lua", Still: true,
		Args: []string{"4"}, Files: map[string]string{"paths.txt": paths}})
	add("yeastor/wrk2", "scripts/json-export.lua", "scripts/plot.lua", "scripts/report-csv.lua", "scripts/report-csv2.lua")
	all = append(all,
		script{Repo: "yeastor/wrk2", Path: "scripts/pipeline2.lua", Args: []string{"/p", "4"}},
		script{Repo: "yeastor/wrk2", Path: "scripts/multiplepaths.lua", Still: true, Files: map[string]string{"paths.txt": paths}},
		script{Repo: "azophy/loadtest-tools-benchmark", Path: "tester/wrk/script-dynamic-multireq.lua", Still: true},
		script{Repo: "azophy/loadtest-tools-benchmark", Path: "tester/wrk/script-dynamic-singlereq.lua", Still: true},
	)
	add("azophy/loadtest-tools-benchmark", "tester/wrk/script-static-multireq.lua")
	add("UA3MQJ/hlc2018", "test/wrk/test1.lua", "test/wrk/test2.lua")
	for _, name := range []string{
		"energy/energy_json", "energy/energy_json_parse", "energy/energy_errors", "energy/energy_middleware", "profile/basic",
		"profile/errors", "profile/headers", "profile/io_ops", "profile/middleware", "profile/mixed_workload",
		"profile/routing_advanced", "profile/streaming", "profile/streaming_compare",
	} {
		all = append(all, script{Repo: "obierlaire/rg-profiler", Path: "wrk/" + name + ".lua", Still: true,
			AnyOrder: strings.HasSuffix(name, "middleware")})
	}
	return all
}

const paths = "/one\n/two\n/three?four=five\n"

const endpoints = "input_endpoints = { \"URL/a\", \"URL/b\" }\n"
