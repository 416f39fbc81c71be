// Package stat turns records into estimates with intervals, classes, modes and
// verdicts. It is pure: it reads no clock, no file and no random source that it
// was not given, and knows nothing of Lua, nginx or terminals.
//
// The unit of everything is the process, not the batch: one LuaJIT process is one
// sample, because the VM rolls dice when it chooses its traces. Batches serve to
// find each process's own location; intervals are taken over processes.
//
// No figure comes alone. An estimate is a [record.Interval]; what makes it weak
// comes beside it as [record.Warning] values, never as an error and never silently.
// docs/explanation/statistics.md says what is done, why, and after whom.
package stat
