// SPDX-License-Identifier: Apache-2.0

package mdist_test

import (
	"errors"
	"runtime"
	"sync/atomic"
	"testing"

	"example.org/libmdist/src/go/mdist"
)

func TestAMergeRunsOnceAndGivesEachReplicaItsPart(t *testing.T) {
	eachWay(t, 3, func(t *testing.T, strategy *mdist.Strategy, run run) {
		var merges atomic.Int32
		_, err := run(func(replica *mdist.Replica) error {
			id := float32(replica.ID())
			results, err := replica.Merge(3, func(strategy *mdist.Strategy, values []*mdist.Value) ([]*mdist.Value, error) {
				merges.Add(1)
				sum, err := strategy.Reduce(mdist.Sum, values[0])
				return []*mdist.Value{sum, nil, values[1]}, err
			}, mdist.TensorOf([]float32{id, 1}), mdist.Scalar(int64(10*id)))
			if err != nil {
				return err
			}
			if err := differ("sum", mdist.Copy[float32](results[0]), []float32{3, 3}); err != nil {
				return err
			}
			if err := differ("nobody's", results[1].Dtype, mdist.Dtype(0)); err != nil {
				return err
			}
			return differ("own part", mdist.Copy[int64](results[2]), []int64{int64(10 * id)})
		})
		succeeds(t, err)
		equal(t, "merges", merges.Load(), int32(1))
	})
}

func TestAMergeMayRunAStepThatMerges(t *testing.T) {
	eachWay(t, 2, func(t *testing.T, strategy *mdist.Strategy, run run) {
		var inner, innermost atomic.Int32
		_, err := run(func(replica *mdist.Replica) error {
			_, err := replica.Merge(0, func(*mdist.Strategy, []*mdist.Value) ([]*mdist.Value, error) {
				_, err := run(func(nested *mdist.Replica) error {
					inner.Add(1)
					_, err := nested.Merge(0, func(*mdist.Strategy, []*mdist.Value) ([]*mdist.Value, error) {
						innermost.Add(1)
						return nil, nil
					})
					return err
				})
				return nil, err
			})
			return err
		})
		succeeds(t, err)
		equal(t, "nested steps", inner.Load(), int32(2))
		equal(t, "merges in them", innermost.Load(), int32(1))
	})
}

func TestResultsOfAMergeStayItsOwn(t *testing.T) {
	eachWay(t, 2, func(t *testing.T, strategy *mdist.Strategy, run run) {
		plain := must(mdist.NewValue(mdist.TensorOf([]int32{7, 8}, 1, 2)))
		parts := must(strategy.NewPerReplica(mdist.Scalar(int64(1)), mdist.Scalar(int64(2))))
		mirrored := must(strategy.Broadcast(mdist.TensorOf([]float64{})))
		cached := []*mdist.Value{plain, nil, parts, mirrored, plain}
		for i := 0; i < 3; i++ {
			_, err := run(func(replica *mdist.Replica) error {
				results, err := replica.Merge(5, func(*mdist.Strategy, []*mdist.Value) ([]*mdist.Value, error) {
					return cached, nil
				})
				if err != nil {
					return err
				}
				for _, j := range []int{0, 4} {
					if err := differ("shape", results[j].Shape, []int{1, 2}); err != nil {
						return err
					}
					if err := differ("plain", mdist.Copy[int32](results[j]), []int32{7, 8}); err != nil {
						return err
					}
				}
				if err := differ("nothing", results[3].Shape, []int{0}); err != nil {
					return err
				}
				return differ("own part", mdist.Copy[int64](results[2]), []int64{int64(1 + replica.ID())})
			})
			succeeds(t, err)
		}
		equal(t, "value afterwards", content[int32](plain, 0), []int32{7, 8})
		parts.Close()
		_, err := run(func(replica *mdist.Replica) error {
			_, err := replica.Merge(5, func(*mdist.Strategy, []*mdist.Value) ([]*mdist.Value, error) { return cached, nil })
			return err
		})
		if !errors.Is(err, mdist.ErrBadHandle) {
			t.Errorf("a closed value: %v", err)
		}
		works(t, strategy, run)
	})
}

func TestAFailingMergeFailsTheRun(t *testing.T) {
	eachWay(t, 2, func(t *testing.T, strategy *mdist.Strategy, run run) {
		merge := func(function mdist.MergeFunc) error {
			_, err := run(func(replica *mdist.Replica) error {
				_, err := replica.Merge(1, function, mdist.Scalar(1.5))
				return err
			})
			if err == nil {
				t.Fatal("the run did not fail")
			}
			works(t, strategy, run)
			return err
		}
		err := merge(func(*mdist.Strategy, []*mdist.Value) ([]*mdist.Value, error) { return nil, errNoGood })
		if !errors.Is(err, errNoGood) || !errors.Is(err, mdist.ErrCallback) {
			t.Errorf("an error: %v", err)
		}
		err = merge(func(*mdist.Strategy, []*mdist.Value) ([]*mdist.Value, error) { panic(errNoGood) })
		var caught *mdist.PanicError
		if !errors.Is(err, errNoGood) || !errors.As(err, &caught) {
			t.Errorf("a panic: %v", err)
		}
		err = merge(func(_ *mdist.Strategy, values []*mdist.Value) ([]*mdist.Value, error) {
			return []*mdist.Value{values[0], values[0]}, nil
		})
		if !errors.Is(err, mdist.ErrCallback) {
			t.Errorf("too many results: %v", err)
		}
		err = merge(func(*mdist.Strategy, []*mdist.Value) ([]*mdist.Value, error) {
			_, err := run(func(*mdist.Replica) error { panic(errNoGood) })
			return nil, err
		})
		if !errors.Is(err, errNoGood) {
			t.Errorf("a panic in a nested step: %v", err)
		}
	})
}

func TestGoexitInAMergeOnAGoroutineFailsTheRun(t *testing.T) {
	strategy := newStrategy(2)
	ended := make(chan struct{})
	var told error // what the replica that waits for the merge hears
	go func() {
		defer close(ended)
		_, _ = strategy.RunGoroutines(func(replica *mdist.Replica) error {
			_, err := replica.Merge(0, func(*mdist.Strategy, []*mdist.Value) ([]*mdist.Value, error) {
				runtime.Goexit()
				return nil, nil
			})
			told = err
			return err
		})
	}()
	<-ended
	if told == nil {
		t.Error("the merge succeeded")
	}
	works(t, strategy, strategy.RunGoroutines)
}
