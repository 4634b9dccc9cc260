// SPDX-License-Identifier: Apache-2.0

package mdist_test

import (
	"errors"
	"testing"

	"example.org/libmdist/src/go/mdist"
)

func TestAVariableFollowsTheMeanOfWhatReplicasWrite(t *testing.T) {
	eachWay(t, 2, func(t *testing.T, strategy *mdist.Strategy, run run) {
		options := mdist.VariableOptions{Aggregation: mdist.AggregateMean}
		variable := must(strategy.NewVariable("estimate", mdist.Describe[float32](), options))
		_, err := run(func(replica *mdist.Replica) error {
			own, err := variable.Tensor(replica.LocalIndex())
			if err != nil {
				return err
			}
			value := mdist.UnsafeSlice[float32](own)
			if err := replica.Assign(variable, mdist.Add, mdist.Scalar(float32(2+4*replica.ID()))); err != nil {
				return err
			}
			return differ("own copy", value[0], float32(4))
		})
		succeeds(t, err)
		equal(t, "name", variable.Name(), "estimate")
		equal(t, "read", content[float32](must(variable.Read()), 0), []float32{4})
		succeeds(t, variable.Assign(mdist.Set, must(mdist.NewValue(mdist.Scalar(float32(9))))))
		equal(t, "copy 1", mdist.Copy[float32](must(variable.Tensor(1))), []float32{9})
		variable.Close()
		if _, err := variable.Read(); !errors.Is(err, mdist.ErrBadHandle) {
			t.Errorf("reading a closed variable: %v", err)
		}
		must(strategy.NewVariable("estimate", mdist.Describe[float32](), options)) // the name is free again
	})
}

func TestAVariableMadeInAStepIsOneForAll(t *testing.T) {
	eachWay(t, 2, func(t *testing.T, strategy *mdist.Strategy, run run) {
		made := make([]*mdist.Variable, 2)
		_, err := run(func(replica *mdist.Replica) (err error) {
			id := int32(replica.ID())
			made[id], err = replica.NewVariable("made/in/step", mdist.TensorOf([]int32{5 + id}), mdist.VariableOptions{})
			return err
		})
		succeeds(t, err)
		for local := 0; local < 2; local++ {
			equal(t, "initial value", mdist.Copy[int32](must(made[1].Tensor(local))), []int32{5})
		}
		made[0].Close()
		equal(t, "value after one Close", content[int32](must(made[1].Read()), 0), []int32{5})
		made[1].Close()
		must(strategy.NewVariable("made/in/step", mdist.Describe[int32](), mdist.VariableOptions{})) // the name is free again
	})
}

func TestUpdatesSeeEachCopyAndFailWithTheirOwnError(t *testing.T) {
	strategy := newStrategy(2)
	options := mdist.VariableOptions{Synchronization: mdist.SyncOnRead, Aggregation: mdist.AggregateSum}
	variable := must(strategy.NewVariable("counter", mdist.Describe[int64](2), options))
	amounts := must(strategy.NewPerReplica(mdist.Scalar(int64(1)), mdist.Scalar(int64(10))))
	succeeds(t, variable.Update(func(local int, copy mdist.Tensor, arguments []mdist.Tensor) error {
		mdist.UnsafeSlice[int64](copy)[local] += mdist.UnsafeSlice[int64](arguments[0])[0]
		return nil
	}, amounts))
	equal(t, "sum of copies", content[int64](must(variable.Read()), 0), []int64{1, 10})
	err := variable.Update(func(local int, _ mdist.Tensor, _ []mdist.Tensor) error {
		if local == 1 {
			panic(errNoGood)
		}
		return nil
	})
	if !errors.Is(err, errNoGood) || !errors.Is(err, mdist.ErrCallback) {
		t.Errorf("found %v", err)
	}
}

func TestTheArenaReducesAllVariablesAtOnce(t *testing.T) {
	eachWay(t, 2, func(t *testing.T, strategy *mdist.Strategy, run run) {
		first := must(strategy.NewVariable("first", mdist.TensorOf([]float32{1, 2, 3}), mdist.VariableOptions{}))
		second := must(strategy.NewVariable("second", mdist.TensorOf([]float32{4}), mdist.VariableOptions{}))
		_, err := run(func(replica *mdist.Replica) error {
			arena, err := strategy.Arena(mdist.Float32Dtype, replica.LocalIndex())
			if err != nil {
				return err
			}
			return replica.AllReduce(mdist.Sum, arena)
		})
		succeeds(t, err)
		for local := 0; local < 2; local++ {
			equal(t, "first", mdist.Copy[float32](must(first.Tensor(local))), []float32{2, 4, 6})
			equal(t, "second", mdist.Copy[float32](must(second.Tensor(local))), []float32{8})
		}
	})
}
