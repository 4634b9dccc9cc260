// SPDX-License-Identifier: Apache-2.0

package main

import "example.org/libmdist/src/go/mdist"

// team has one goroutine for each replica except replica 0, which the caller runs. The goroutines wait for runs.
type team struct {
	runs []chan *mdist.OpenRun
	done chan error
}

func newTeam(replicas int) *team {
	t := &team{done: make(chan error, replicas)}
	for local := 1; local < replicas; local++ {
		runs := make(chan *mdist.OpenRun)
		t.runs = append(t.runs, runs)
		go func(local int) {
			for run := range runs {
				t.done <- step(run, local)
			}
		}(local)
	}
	return t
}

func step(run *mdist.OpenRun, local int) error {
	replica, err := run.Enter(local)
	if err != nil {
		return err
	}
	return replica.Exit(nil)
}

func (t *team) run(strategy *mdist.Strategy) error {
	run, err := strategy.Begin()
	if err != nil {
		return err
	}
	for _, runs := range t.runs {
		runs <- run
	}
	err = step(run, 0)
	for range t.runs {
		if failed := <-t.done; err == nil {
			err = failed
		}
	}
	if _, failed := run.End(); err == nil {
		err = failed
	}
	return err
}

func (t *team) close() {
	for _, runs := range t.runs {
		close(runs)
	}
}
