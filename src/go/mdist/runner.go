// SPDX-License-Identifier: Apache-2.0

package mdist

// #include "shim.h"
import "C"

import "time"

// RunOptions says what else a run may do.
type RunOptions struct {
	Results int           // how many results steps may set; 0: 8
	Timeout time.Duration // of each wait for other replicas; 0: the key communication.timeout decides
}

// Runner makes runs with options: strategy.With(mdist.RunOptions{Timeout: time.Minute}).Run(step). Its methods are those of
// a Strategy.
type Runner struct {
	strategy *Strategy
	results  int
	timeout  C.uint64_t // in nanoseconds; 0: the strategy's
}

// With returns what makes runs of this strategy with options, any number of times.
func (s *Strategy) With(options RunOptions) *Runner {
	runner := &Runner{strategy: s, results: options.Results}
	if runner.results <= 0 {
		runner.results = 8
	}
	if options.Timeout != 0 {
		timeout := options.Timeout
		if timeout < 0 {
			timeout = 1
		}
		runner.timeout = C.uint64_t(timeout)
	}
	return runner
}

// Run is Runner.Run without options.
func (s *Strategy) Run(step Step, arguments ...*Value) ([]*Value, error) {
	return s.With(RunOptions{}).Run(step, arguments...)
}

// Map is Runner.Map without options.
func (s *Strategy) Map(elements int, element ElementFunc, arguments ...*Value) ([]*Value, error) {
	return s.With(RunOptions{}).Map(elements, element, arguments...)
}

// RunGoroutines is Runner.RunGoroutines without options.
func (s *Strategy) RunGoroutines(step Step, arguments ...*Value) ([]*Value, error) {
	return s.With(RunOptions{}).RunGoroutines(step, arguments...)
}

// Begin is Runner.Begin without options.
func (s *Strategy) Begin(arguments ...*Value) (*OpenRun, error) {
	return s.With(RunOptions{}).Begin(arguments...)
}

// RunNamed is Runner.RunNamed without options.
func (s *Strategy) RunNamed(name string, arguments ...*Value) ([]*Value, error) {
	return s.With(RunOptions{}).RunNamed(name, arguments...)
}
