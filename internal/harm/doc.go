// Package harm is the test bed for "never hurt the worker": a real nginx with Lua under load, while moonlap looks at its
// workers and an accident happens, to moonlap or to the workers. It has tests alone. `make test-harm` is the long form.
//
// Each kind of accident (a fault) is a file of its own, with a function that has it happen once; faults_test.go lists them.
// bed_test.go is nginx, load_test.go its clients, look_test.go the commands, leftovers_test.go what is counted.
package harm
