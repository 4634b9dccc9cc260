// SPDX-License-Identifier: Apache-2.0

package mdist_test

import (
	"errors"
	"testing"

	"example.org/libmdist/src/go/mdist"
)

func TestAMapComputesElementsOnAllReplicas(t *testing.T) {
	strategy := newStrategy(3)
	table := plain[float32](0, 1, 2, 3, 4, 5, 6)
	results := must(strategy.Map(7, func(replica *mdist.Replica, element int) error {
		argument, err := replica.Argument(0)
		if err != nil {
			return err
		}
		return replica.SetResult(0, mdist.Scalar(2*mdist.Copy[float32](argument)[element]))
	}, table))
	equal(t, "elements of replica 1", content[float32](results[0], 1), []float32{2, 8})
	mean := must(strategy.Reduce(mdist.Mean, results[0], 0))
	equal(t, "mean", content[float32](mean, 0), []float32{6})
	_, err := strategy.Map(2, func(*mdist.Replica, int) error { panic(errNoGood) })
	if !errors.Is(err, errNoGood) {
		t.Errorf("found %v", err)
	}
	works(t, strategy, strategy.Run)
}

func TestValuesComeFromFunctions(t *testing.T) {
	strategy := newStrategy(3)
	shared := plain[int8](7)
	value := must(strategy.ValuesFromFunction(func(id, count int) (*mdist.Value, error) {
		return mdist.NewStructure(map[string]*mdist.Value{"place": plain(int32(id), int32(count)), "shared": shared})
	}))
	equal(t, "place", content[int32](must(value.At("place")), 2), []int32{2, 3})
	equal(t, "shared", content[int8](shared, 0), []int8{7})
	_, err := strategy.ValuesFromFunction(func(int, int) (*mdist.Value, error) { return nil, errNoGood })
	if !errors.Is(err, errNoGood) || !errors.Is(err, mdist.ErrCallback) {
		t.Errorf("found %v", err)
	}
}

func TestAFetchTakesWhatIsMadeOfAValue(t *testing.T) {
	strategy := newStrategy(2)
	value := must(strategy.Broadcast(mdist.TensorOf([]int32{1, 5, 3})))
	equal(t, "content", content[int32](must(strategy.Fetch(value, "", nil)), 0), []int32{1, 5, 3})
	last := must(strategy.Fetch(value, "cpu:1", func(source mdist.Tensor) (*mdist.Value, error) {
		return plain(mdist.Copy[int32](source)[2]), nil
	}))
	equal(t, "last", content[int32](last, 0), []int32{3})
	_, err := strategy.Fetch(value, "", func(mdist.Tensor) (*mdist.Value, error) { return nil, errNoGood })
	if !errors.Is(err, errNoGood) {
		t.Errorf("found %v", err)
	}
}

func TestUpdatesGiveResults(t *testing.T) {
	strategy := newStrategy(2)
	variable := must(strategy.NewVariable("w", mdist.TensorOf([]float32{1, 2}), mdist.VariableOptions{}))
	results := must(variable.UpdateResults(2, func(local int, copy mdist.Tensor, _ []mdist.Tensor) ([]*mdist.Value, error) {
		before := plain(mdist.Copy[float32](copy)...)
		mdist.UnsafeSlice[float32](copy)[local] = 9
		return []*mdist.Value{before}, nil
	}))
	equal(t, "before", content[float32](results[0], 1), []float32{1, 2})
	equal(t, "after", mdist.Copy[float32](must(variable.Tensor(1))), []float32{1, 9})
	if results[1] != nil {
		t.Error("a result that nobody gave")
	}
	steps := must(strategy.UpdateDevices(1, func(local int, none mdist.Tensor, x []mdist.Tensor) ([]*mdist.Value, error) {
		return []*mdist.Value{plain(mdist.Copy[int64](x[0])[0] + int64(local))}, differ("no copy", none, mdist.Tensor{})
	}, plain[int64](5)))
	equal(t, "steps", content[int64](steps[0], 1), []int64{6})
	if _, err := variable.UpdateResults(-1, nil); !errors.Is(err, mdist.ErrInvalidArgument) {
		t.Errorf("found %v", err)
	}
}

func TestAVariableIsFoundByItsMemory(t *testing.T) {
	strategy := newStrategy(2)
	first := must(strategy.NewVariable("first", mdist.TensorOf([]float32{1, 2}), mdist.VariableOptions{}))
	beside := mdist.VariableOptions{ColocateWith: first}
	must(strategy.NewVariable("second", mdist.Describe[float32](), beside))
	found, local, err := strategy.VariableOf(must(first.Tensor(1)))
	succeeds(t, err)
	first.Close()
	equal(t, "name", found.Name(), "first")
	equal(t, "local replica", local, 1)
	if _, _, err := strategy.VariableOf(mdist.Scalar(int8(1))); !errors.Is(err, mdist.ErrNotFound) {
		t.Errorf("found %v", err)
	}
	elsewhere := mdist.VariableOptions{ColocateWith: found}
	if _, err := newStrategy(2).NewVariable("w", mdist.Describe[int8](), elsewhere); err == nil {
		t.Error("a variable beside one of another strategy")
	}
}
