// SPDX-License-Identifier: Apache-2.0

package mdist_test

import (
	"errors"
	"testing"
	"time"

	"example.org/libmdist/src/go/mdist"
)

func TestStepsSeeTheirReplicaAndTheirPartOfTheArguments(t *testing.T) {
	eachWay(t, 3, func(t *testing.T, strategy *mdist.Strategy, run run) {
		parts := must(strategy.NewPerReplica(mdist.TensorOf([]float32{1}), mdist.TensorOf([]float32{2, 20}),
			mdist.TensorOf([]float32{})))
		common := must(mdist.NewValue(mdist.TensorOf([]uint8{1, 2, 3, 4}, 2, 2)))
		expected := [][]float32{{1}, {2, 20}, {}}
		ids := make([]int, 3)
		_, err := run(func(replica *mdist.Replica) error {
			ids[replica.LocalIndex()] = replica.ID() + 10*replica.Count()
			part, err := replica.Argument(0)
			if err != nil {
				return err
			}
			shared, err := replica.Argument(1)
			if err != nil {
				return err
			}
			if err := differ("shape", shared.Shape, []int{2, 2}); err != nil {
				return err
			}
			found := append([]float32{}, mdist.Copy[float32](part)...)
			return differ("argument 0", found, expected[replica.ID()])
		}, parts, common)
		succeeds(t, err)
		equal(t, "ids and counts", ids, []int{30, 31, 32})
	})
}

func TestARunReturnsWhatTheStepsSet(t *testing.T) {
	eachWay(t, 2, func(t *testing.T, strategy *mdist.Strategy, run run) {
		results, err := run(func(replica *mdist.Replica) error {
			id := float64(replica.ID())
			if err := replica.SetResult(2, mdist.Scalar(id)); err != nil {
				return err
			}
			return replica.SetResult(0, mdist.TensorOf([]int32{7, 8, 9, 10, 11, 12}, 2, 3))
		})
		succeeds(t, err)
		equal(t, "number of results", len(results), 3)
		if results[1] != nil {
			t.Error("a result that no replica set is not nil")
		}
		equal(t, "kind", results[0].Kind(), mdist.PerReplica)
		equal(t, "shape", must(results[0].Tensor(1)).Shape, []int{2, 3})
		equal(t, "content", content[int32](results[0], 1), []int32{7, 8, 9, 10, 11, 12})
		equal(t, "scalar", content[float64](results[2], 1), []float64{1})
	})
}

func TestOptionsOfARun(t *testing.T) {
	strategy := newStrategy(2)
	last := func(replica *mdist.Replica) error { return replica.SetResult(11, mdist.Scalar(int64(replica.ID()))) }
	over := make(chan struct{})
	late := func(replica *mdist.Replica) error {
		if replica.ID() == 1 {
			<-over // so it never comes to the barrier
			return nil
		}
		defer close(over)
		return replica.Barrier()
	}
	with := strategy.With(mdist.RunOptions{Results: 12})
	for what, run := range map[string]run{"threads": with.Run, "goroutines": with.RunGoroutines} {
		results := must(run(last))
		equal(t, what, len(results), 12)
		equal(t, what, content[int64](results[11], 1), []int64{1})
	}
	if _, err := strategy.Run(last); !errors.Is(err, mdist.ErrInvalidArgument) {
		t.Errorf("result 11 of 8: %v", err)
	}
	impatient := newStrategy(2).With(mdist.RunOptions{Timeout: time.Millisecond})
	if _, err := impatient.Run(late); !errors.Is(err, mdist.ErrTimeout) {
		t.Errorf("a run with a timeout: %v", err)
	}
	if results := must(strategy.With(mdist.RunOptions{Results: 9}).Map(4, func(replica *mdist.Replica, element int) error {
		return replica.SetResult(8, mdist.Scalar(int64(element)))
	})); len(results) != 9 {
		t.Errorf("%d results of a map", len(results))
	}
}

func TestAStrategyTellsWhatItHas(t *testing.T) {
	strategy := newStrategy(3)
	equal(t, "replicas", strategy.ReplicaCount(), 3)
	equal(t, "local replicas", strategy.LocalReplicaCount(), 3)
	equal(t, "workers", strategy.WorkerCount(), 1)
	equal(t, "rank", strategy.Rank(), 0)
	equal(t, "first replica", strategy.FirstReplicaID(), 0)
	equal(t, "chief", strategy.IsChief(), true)
	equal(t, "device", must(strategy.Device(2)), "cpu:2")
	strategy.Close()
	strategy.Close()
	equal(t, "replicas after Close", strategy.ReplicaCount(), 0)
	equal(t, "workers after Close", strategy.WorkerCount(), 0)
	equal(t, "worker after Close", strategy.Rank(), -1)
	equal(t, "chief after Close", strategy.IsChief(), false)
}

func TestConfigsAreReadAndWritten(t *testing.T) {
	config := must(mdist.NewConfig())
	succeeds(t, config.LoadText("communication: {timeout: 3s}\n"))
	equal(t, "timeout", must(config.Get("communication.timeout")), "3s")
	t.Setenv("MDIST_DEVICES", "cpu*5")
	succeeds(t, config.LoadEnvironment())
	equal(t, "devices", must(config.Get("devices")), "cpu*5")
	config = must(mdist.NewConfig())
	equal(t, "devices at first", must(config.Get("devices")), "cpu*5")
	succeeds(t, config.Set("devices", "cpu"))
	equal(t, "devices set later", must(config.Get("devices")), "cpu")
	equal(t, "devices of an empty config", must(must(mdist.NewEmptyConfig()).Get("devices")), "auto")
}
