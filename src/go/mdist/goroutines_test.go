// SPDX-License-Identifier: Apache-2.0

package mdist_test

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"example.org/libmdist/src/go/mdist"
)

// Every replica is used on four threads in turn: as each goroutine is locked to its own, and all are alive, no two are
// the same thread.
func TestAReplicaMovesBetweenThreads(t *testing.T) {
	const replicas, stages = 2, 4
	strategy := newStrategy(replicas)
	open := must(strategy.Begin())
	threads := make([][stages]int, replicas)
	failures := make(chan error, replicas*stages)
	var all sync.WaitGroup
	for local := 0; local < replicas; local++ {
		replica := must(open.Enter(local))
		hand := make(chan struct{})
		close(hand)
		finished := make(chan struct{})
		var stage sync.WaitGroup
		stage.Add(stages)
		go func() { stage.Wait(); close(finished) }()
		for i := 0; i < stages; i++ {
			all.Add(1)
			mine, next := hand, make(chan struct{})
			hand = next
			go func(local, i int) {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				defer all.Done()
				<-mine
				threads[local][i] = syscall.Gettid()
				x := []float32{float32(local + i)}
				failures <- mdist.AllReduce(replica, mdist.Sum, x)
				failures <- differ("sum", x[0], float32(2*i+1))
				if i == stages-1 {
					failures <- replica.Exit(nil)
				}
				close(next)
				stage.Done()
				<-finished // keep the thread until the others have had theirs
			}(local, i)
		}
	}
	go func() { all.Wait(); close(failures) }()
	for err := range failures {
		if err != nil {
			t.Error(err)
		}
	}
	_, err := open.End()
	succeeds(t, err)
	for local := range threads {
		different := map[int]bool{}
		for _, thread := range threads[local] {
			different[thread] = true
		}
		equal(t, "threads that used one replica", len(different), stages)
	}
}

// More replicas than Go runs at a time: one that waits in C must not keep the others from starting.
func TestReplicasOutnumberWhatGoRunsAtATime(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	eachWay(t, 4, func(t *testing.T, strategy *mdist.Strategy, run run) {
		for i := 0; i < 20; i++ {
			works(t, strategy, run)
		}
	})
}

func TestAStepMayLockItsThread(t *testing.T) {
	strategy := newStrategy(2)
	_, err := strategy.RunGoroutines(func(replica *mdist.Replica) error {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		thread := syscall.Gettid()
		for i := 0; i < 100; i++ {
			if err := replica.Barrier(); err != nil {
				return err
			}
			runtime.Gosched()
		}
		return differ("thread", syscall.Gettid(), thread)
	})
	succeeds(t, err)
}

func TestGoexitInAStepOnAGoroutineFailsTheRun(t *testing.T) {
	strategy := newStrategy(2)
	run := func(leaving int) (err error, returned bool) {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, err = strategy.RunGoroutines(func(replica *mdist.Replica) error {
				if replica.ID() == leaving {
					runtime.Goexit()
				}
				return replica.Barrier()
			})
			returned = true
		}()
		<-ended
		return err, returned
	}
	if err, _ := run(1); !errors.Is(err, mdist.ErrGoexit) {
		t.Errorf("found %v", err)
	}
	works(t, strategy, strategy.RunGoroutines)
	if _, returned := run(0); returned {
		t.Error("a goroutine that called Goexit went on")
	}
	works(t, strategy, strategy.RunGoroutines)
}

func TestAnOpenRunSaysWhatIsMissing(t *testing.T) {
	strategy := newStrategy(2)
	open := must(strategy.Begin())
	if _, err := strategy.Begin(); !hasReason(err, "busy") {
		t.Errorf("a second Begin: %v", err)
	}
	replica := must(open.Enter(0))
	if _, err := open.End(); !hasReason(err, "replica_inside") {
		t.Errorf("End with a replica inside: %v", err)
	}
	succeeds(t, replica.Exit(nil))
	if err := replica.Exit(nil); !errors.Is(err, mdist.ErrBadHandle) {
		t.Errorf("a second Exit: %v", err)
	}
	if _, err := open.End(); !hasReason(err, "not_entered") {
		t.Errorf("End without replica 1: %v", err)
	}
	works(t, strategy, strategy.Run)
}

// A replica that cannot be entered fails the run with what Enter said; the others do not wait for it.
func TestAReplicaThatCannotBeEnteredFailsTheRun(t *testing.T) {
	strategy := newStrategy(3)
	for taken := 0; taken < 3; taken++ {
		open := must(strategy.Begin())
		succeeds(t, must(open.Enter(taken)).Exit(nil))
		_, err := open.Steps(func(replica *mdist.Replica) error { return replica.Barrier() })
		if !hasReason(err, "entered_before") {
			t.Errorf("replica %d: %v", taken, err)
		}
		works(t, strategy, strategy.RunGoroutines)
	}
	open := must(strategy.Begin())
	strategy.Close()
	if _, err := open.Steps(func(*mdist.Replica) error { return nil }); !errors.Is(err, mdist.ErrBadHandle) {
		t.Errorf("a closed strategy: %v", err)
	}
}

func hasReason(err error, reason string) bool {
	var failure *mdist.Error
	return errors.As(err, &failure) && failure.Reason == reason
}

func TestAbortReleasesReplicasThatWait(t *testing.T) {
	eachWay(t, 2, func(t *testing.T, strategy *mdist.Strategy, run run) {
		_, err := run(func(replica *mdist.Replica) error {
			if replica.ID() == 1 {
				strategy.Abort()
			}
			return replica.Barrier()
		})
		if !errors.Is(err, mdist.ErrAborted) {
			t.Errorf("found %v", err)
		}
	})
}

// A step that loops without a call can only be stopped by a signal of Go's. (On a thread of the library Go may lose it.)
func TestTheCollectorDoesNotWaitForALoopInAStep(t *testing.T) {
	strategy := newStrategy(2)
	defer strategy.Close()
	var looping, collected atomic.Bool
	go func() {
		for !looping.Load() {
			runtime.Gosched()
		}
		runtime.GC()
		collected.Store(true)
	}()
	_, err := strategy.RunGoroutines(func(replica *mdist.Replica) error {
		if replica.ID() == 1 {
			looping.Store(true)
			for !collected.Load() {
			}
		}
		return nil
	})
	succeeds(t, err)
}
