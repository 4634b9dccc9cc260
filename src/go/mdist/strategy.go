// SPDX-License-Identifier: Apache-2.0

package mdist

// #include "shim.h"
import "C"

import (
	"runtime"
	"sync"
)

// Strategy owns the devices of this process, and a replica on each. It takes one call at a time (checked: the second
// one fails with reason "busy"), except for what only asks, Abort and Close.
type Strategy struct {
	handle    *C.mdist_strategy_t
	lock      sync.Mutex                       // never held during a call into C
	variables map[*C.mdist_variable_t]struct{} // those that nobody closed
	named     []uintptr                        // functions by name and those of blobs, in lasting

	namedFailures, blobFailures failures
}

// NewStrategy creates a strategy from a config, or from the environment if that is nil.
func NewStrategy(config *Config) (*Strategy, error) {
	if err := checkVersion(); err != nil {
		return nil, err
	}
	var settings *C.mdist_config_t
	if config != nil {
		settings = config.handle
		defer runtime.KeepAlive(config)
	}
	strategy := &Strategy{variables: map[*C.mdist_variable_t]struct{}{}}
	var story *C.mdist_error_t
	if err := check(C.mdist_strategy_create(settings, &strategy.handle, &story), &story); err != nil {
		return nil, err
	}
	runtime.SetFinalizer(strategy, (*Strategy).finalize)
	return strategy, nil
}

// Close gives the strategy back. Calls under way on other goroutines are aborted; this one does not wait for them.
// Variables, values and datasets may be closed before or after.
func (s *Strategy) Close() {
	C.mdist_strategy_destroy(s.handle)
	s.lock.Lock()
	named := s.named
	s.named = nil
	s.lock.Unlock()
	lasting.remove(named...)
	runtime.KeepAlive(s)
}

// finalize runs when no variable is used any more either, since each knows its strategy. What was destroyed before, the
// library ignores.
func (s *Strategy) finalize() {
	for variable := range s.variables {
		C.mdist_variable_destroy(variable)
	}
	C.mdist_strategy_destroy(s.handle)
}

// Abort ends all collectives, those under way and later ones, with ErrAborted. Steps run on to their own end.
func (s *Strategy) Abort() {
	C.mdist_strategy_abort(s.handle)
	runtime.KeepAlive(s)
}

// CheckHealth returns what ended all collectives, such as a worker that was lost; nil while they can go on. At once.
func (s *Strategy) CheckHealth() error {
	defer runtime.KeepAlive(s)
	var story *C.mdist_error_t
	return check(C.mdist_strategy_check_health(s.handle, &story), &story)
}

// ReplicaCount returns the replicas of the whole job; 0 if the strategy is closed.
func (s *Strategy) ReplicaCount() int {
	defer runtime.KeepAlive(s)
	return int(C.mdist_strategy_replica_count(s.handle))
}

// LocalReplicaCount returns the replicas of this process; 0 if the strategy is closed.
func (s *Strategy) LocalReplicaCount() int {
	defer runtime.KeepAlive(s)
	return int(C.mdist_strategy_local_replica_count(s.handle))
}

// WorkerCount returns the workers of the job: 1 if this one is alone, 0 if the strategy is closed.
func (s *Strategy) WorkerCount() int {
	defer runtime.KeepAlive(s)
	return int(C.mdist_strategy_worker_count(s.handle))
}

// Rank returns this worker's rank, from 0; -1 if the strategy is closed.
func (s *Strategy) Rank() int {
	defer runtime.KeepAlive(s)
	return orNone(C.mdist_strategy_rank(s.handle))
}

// FirstReplicaID returns the id of this worker's first local replica; -1 if the strategy is closed. In an elastic job it
// changes with Regroup.
func (s *Strategy) FirstReplicaID() int {
	defer runtime.KeepAlive(s)
	return orNone(C.mdist_strategy_first_replica_id(s.handle))
}

// IsChief says whether it is this worker that does what is done once for all: writes checkpoints, prints. It is false
// if the strategy is closed.
func (s *Strategy) IsChief() bool {
	defer runtime.KeepAlive(s)
	return C.mdist_strategy_is_chief(s.handle) != 0
}

// Device returns the name of the device under a local replica: "cpu:1".
func (s *Strategy) Device(local int) (string, error) {
	number, err := index("local", local)
	if err != nil {
		return "", err
	}
	defer runtime.KeepAlive(s)
	return text(func(at *C.char, capacity C.size_t, needed *C.size_t) error {
		var story *C.mdist_error_t
		return check(C.mdist_strategy_device(s.handle, number, at, capacity, needed, &story), &story)
	})
}
