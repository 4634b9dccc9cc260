// SPDX-License-Identifier: Apache-2.0

package mdist

// #include "shim.h"
import "C"

import (
	"errors"
	"runtime"
	"sync"
)

// OpenRun is a run whose steps are on goroutines of yours: between Begin and End each local replica is entered once.
type OpenRun struct {
	failures
	strategy *Strategy
	results  int
}

// ErrGoexit is what a step on a goroutine failed with if it called runtime.Goexit, as testing.T.FailNow does.
var ErrGoexit = errors.New("the step called runtime.Goexit")

// RunGoroutines is Run with replica 0 on this goroutine and every other on a new one, none of them bound to a thread.
// A step that calls runtime.Goexit fails the run; that of replica 0 ends this goroutine, too, when the run is over.
//
// A replica that waits in a collective does not keep Go from running the others, but Go takes a while to notice: let
// runtime.GOMAXPROCS be at least the number of replicas.
func (r *Runner) RunGoroutines(step Step, arguments ...*Value) (results []*Value, err error) {
	run, err := r.Begin(arguments...)
	if err != nil {
		return nil, err
	}
	return run.steps(step)
}

// steps enters every replica before any step begins: if one cannot be, nobody waits for it yet.
func (r *OpenRun) steps(step Step) (results []*Value, err error) {
	replicas := make([]*Replica, r.strategy.LocalReplicaCount())
	for local := range replicas {
		if replicas[local], err = r.Enter(local); err != nil {
			for _, replica := range replicas[:local] {
				_ = replica.Exit(err)
			}
			_, _ = r.End() // has nothing better to tell
			return nil, err
		}
	}
	if len(replicas) == 0 { // the strategy was closed meanwhile
		return r.End()
	}
	var others sync.WaitGroup
	defer func() { // whichever way the step of replica 0 ends
		others.Wait()
		results, err = r.End()
	}()
	for _, replica := range replicas[1:] {
		others.Add(1)
		go func(replica *Replica) {
			defer others.Done()
			r.step(replica, step)
		}(replica)
	}
	r.step(replicas[0], step)
	return nil, nil // End says what
}

// step runs the step of one replica and leaves it, in whichever way the step ends. What exit refuses, End tells as well.
func (r *OpenRun) step(replica *Replica, step Step) {
	code := int32(-1)
	defer func() {
		if code < 0 {
			code = r.add(ErrGoexit)
		}
		_ = replica.exit(code)
	}()
	code = r.call(func() error { return step(replica) })
}

// Begin opens a run: the strategy is busy until End.
func (r *Runner) Begin(arguments ...*Value) (*OpenRun, error) {
	handles := valueHandles(arguments)
	var story *C.mdist_error_t
	err := check(C.mdistgo_run_begin(r.strategy.handle, first(handles), C.size_t(len(handles)), C.size_t(r.results),
		r.timeout, &story), &story)
	runtime.KeepAlive(arguments)
	runtime.KeepAlive(r)
	if err != nil {
		return nil, err
	}
	return &OpenRun{strategy: r.strategy, results: r.results}, nil
}

// Enter begins the step of a local replica. Any goroutine may use the replica, one at a time, until Replica.Exit.
// Replicas that wait for each other need goroutines of their own.
func (r *OpenRun) Enter(local int) (*Replica, error) {
	number, err := index("local", local)
	if err != nil {
		return nil, err
	}
	replica := &Replica{strategy: r.strategy, failures: &r.failures, entered: true}
	var story *C.mdist_error_t
	err = check(C.mdist_replica_enter(r.strategy.handle, number, &replica.handle, &story), &story)
	runtime.KeepAlive(r)
	if err != nil {
		return nil, err
	}
	return replica, nil
}

// Exit ends the step of a replica that was entered. An error fails the run and releases all other replicas, as if a
// step had returned it.
func (r *Replica) Exit(err error) error {
	code := int32(0)
	if err != nil {
		code = r.failures.add(err)
	}
	return r.exit(code)
}

func (r *Replica) exit(code int32) error {
	var story *C.mdist_error_t
	why := r.failures.words(code)
	defer freeText(why)
	err := check(C.mdistgo_exit(r.handle, C.int32_t(code), why, &story), &story)
	runtime.KeepAlive(r)
	return err
}

// End closes the run when all replicas have left, and returns what Run would.
func (r *OpenRun) End() ([]*Value, error) {
	results := make([]*C.mdist_value_t, r.results)
	var story *C.mdist_error_t
	err := check(C.mdist_run_end(r.strategy.handle, first(results), C.size_t(r.results), &story), &story)
	runtime.KeepAlive(r)
	if err != nil {
		return nil, r.explain(err)
	}
	return resultValues(results), nil
}
