// SPDX-License-Identifier: Apache-2.0

package mdist_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"example.org/libmdist/src/go/mdist"
)

var errNoGood = errors.New("the numbers are no good")

func TestAnErrorOfAStepComesBackAsItself(t *testing.T) {
	for failing := 0; failing < 3; failing++ {
		eachWay(t, 3, func(t *testing.T, strategy *mdist.Strategy, run run) {
			_, err := run(func(replica *mdist.Replica) error {
				if replica.ID() == failing {
					return fmt.Errorf("row %d: %w", failing, errNoGood)
				}
				return replica.Barrier() // the others wait, and are released
			})
			var failure *mdist.Error
			if !errors.Is(err, errNoGood) || !errors.Is(err, mdist.ErrCallback) || !errors.As(err, &failure) {
				t.Fatalf("replica %d: %v", failing, err)
			}
			equal(t, "replica", failure.Replica, failing)
			equal(t, "worker", failure.Rank, -1)
			if !strings.HasSuffix(mdist.Message(failure), fmt.Sprintf(": row %d: the numbers are no good", failing)) {
				t.Errorf("the library says %q", mdist.Message(failure))
			}
			if !strings.HasSuffix(err.Error(), fmt.Sprintf("row %d: the numbers are no good", failing)) {
				t.Errorf("the message is %q", err)
			}
			works(t, strategy, run)
		})
	}
}

func TestAPanicOfAStepComesBackWithValueAndStack(t *testing.T) {
	for failing := 0; failing < 2; failing++ {
		eachWay(t, 2, func(t *testing.T, strategy *mdist.Strategy, run run) {
			_, err := run(func(replica *mdist.Replica) error {
				if replica.ID() == failing {
					explode([]int{1, 2, 3})
				}
				return replica.Barrier()
			})
			var caught *mdist.PanicError
			if !errors.As(err, &caught) || !errors.Is(err, mdist.ErrCallback) {
				t.Fatalf("replica %d: %v", failing, err)
			}
			if !strings.Contains(string(caught.Stack), "explode") {
				t.Errorf("the stack does not show where it came from:\n%s", caught.Stack)
			}
			var outOfRange interface{ RuntimeError() }
			if !errors.As(err, &outOfRange) || !strings.Contains(err.Error(), "index out of range [7]") {
				t.Errorf("the value of the panic is lost: %v", err)
			}
			if !strings.Contains(err.Error(), "length 3 (error_test.go:") {
				t.Errorf("it does not say where it panicked: %v", err)
			}
			works(t, strategy, run)
		})
	}
}

//go:noinline
func explode(numbers []int) { numbers[len(numbers)+4]++ }

func TestTheFirstCauseWins(t *testing.T) {
	eachWay(t, 3, func(t *testing.T, strategy *mdist.Strategy, run run) {
		_, err := run(func(replica *mdist.Replica) error {
			if replica.ID() == 1 {
				panic("the first cause")
			}
			err := replica.Barrier()
			if !errors.Is(err, mdist.ErrAborted) {
				return fmt.Errorf("a barrier in a step that failed: %w", err)
			}
			return fmt.Errorf("a consequence: %w", err)
		})
		if err == nil || !strings.Contains(err.Error(), "panic: the first cause (error_test.go:") || errors.Is(err, mdist.ErrAborted) {
			t.Errorf("found %v", err)
		}
	})
}

func TestWhatTheLibraryRefusesIsItsOwnSentence(t *testing.T) {
	eachWay(t, 2, func(t *testing.T, strategy *mdist.Strategy, run run) {
		_, err := run(func(replica *mdist.Replica) error {
			if replica.ID() == 0 {
				return mdist.AllReduce(replica, mdist.Sum, []float32{1, 2})
			}
			return mdist.AllReduce(replica, mdist.Sum, []float64{1, 2})
		})
		var failure *mdist.Error
		if !errors.As(err, &failure) {
			t.Fatalf("not of the library: %v", err)
		}
		equal(t, "status", failure.Status, mdist.ErrMismatch)
		equal(t, "reason", failure.Reason, "different_calls")
		equal(t, "operation", failure.Operation, "mdist_all_reduce")
		if !strings.Contains(err.Error(), "float32") || !strings.Contains(err.Error(), "float64") {
			t.Errorf("the sentence does not name both types: %q", err)
		}
		if errors.Is(err, mdist.ErrTimeout) || !errors.Is(err, mdist.ErrMismatch) {
			t.Error("errors.Is does not compare statuses")
		}
		works(t, strategy, run)
	})
}

func TestWhatAStepSaysAroundAnErrorOfTheLibraryIsKept(t *testing.T) {
	eachWay(t, 2, func(t *testing.T, strategy *mdist.Strategy, run run) {
		_, err := run(func(replica *mdist.Replica) error {
			if err := mdist.AllReduce(replica, mdist.Mean, []int32{1}); err != nil {
				return fmt.Errorf("%w, says replica %d: %v", errNoGood, replica.ID(), err)
			}
			return nil
		})
		if !errors.Is(err, mdist.ErrInvalidArgument) {
			t.Fatalf("found %v", err)
		}
		if strings.Count(err.Error(), "int32") == 0 {
			t.Errorf("the sentence does not name the type: %q", err)
		}
		_, err = run(func(replica *mdist.Replica) error {
			if err := mdist.AllReduce(replica, mdist.Mean, []int32{1}); err != nil {
				return fmt.Errorf("step 12: %w", err)
			}
			return nil
		})
		if !strings.HasPrefix(err.Error(), "step 12: ") || !errors.Is(err, mdist.ErrInvalidArgument) {
			t.Errorf("found %q", err)
		}
	})
}

func TestConfigsAndClosedObjectsAreRefused(t *testing.T) {
	config := must(mdist.NewConfig())
	err := config.Set("device", "cpu*2")
	if !errors.Is(err, mdist.ErrConfig) || !strings.Contains(err.Error(), "devices") {
		t.Errorf("an unknown key: %v", err)
	}
	strategy := newStrategy(2)
	strategy.Close()
	if _, err := strategy.Run(func(*mdist.Replica) error { return nil }); !errors.Is(err, mdist.ErrBadHandle) {
		t.Errorf("a closed strategy: %v", err)
	}
	var kept *mdist.Replica
	other := newStrategy(1)
	must(other.Run(func(replica *mdist.Replica) error { kept = replica; return nil }))
	if err := kept.Barrier(); !errors.Is(err, mdist.ErrBadHandle) {
		t.Errorf("a replica after its step: %v", err)
	}
	equal(t, "a status's name", mdist.ErrTimeout.Error(), "MDIST_ERR_TIMEOUT")
}
