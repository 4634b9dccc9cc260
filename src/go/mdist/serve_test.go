// SPDX-License-Identifier: Apache-2.0

package mdist_test

import (
	"errors"
	"strings"
	"testing"

	"example.org/libmdist/src/go/mdist"
)

func TestStepsAndUpdatesRunByTheirNames(t *testing.T) {
	strategy := newStrategy(2)
	defer strategy.Close()
	succeeds(t, strategy.RegisterStep("add", func(replica *mdist.Replica) error {
		x, err := replica.Argument(0)
		if err != nil {
			return err
		}
		return replica.SetResult(0, mdist.TensorOf([]float32{mdist.Copy[float32](x)[0] + float32(replica.ID())}, 1))
	}))
	succeeds(t, strategy.RegisterUpdate("subtract", func(local int, variable mdist.Tensor, arguments []mdist.Tensor) ([]*mdist.Value, error) {
		if variable.Address() != nil {
			mdist.UnsafeSlice[float32](variable)[0] -= mdist.UnsafeSlice[float32](arguments[0])[0]
		}
		who, err := mdist.NewValue(mdist.TensorOf([]int32{int32(local)}, 1))
		return []*mdist.Value{who}, err
	}))
	five := must(mdist.NewValue(mdist.TensorOf([]float32{5}, 1)))
	found := must(strategy.RunNamed("add", five))
	succeeds(t, differ("the step", mdist.Copy[float32](must(found[0].Tensor(1))), []float32{6}))
	variable := must(strategy.NewVariable("v", mdist.TensorOf([]float32{10}, 1), mdist.VariableOptions{}))
	who := must(strategy.UpdateNamed(variable, "subtract", 1, five))
	succeeds(t, differ("the update", mdist.Copy[int32](must(who[0].Tensor(1))), []int32{1}))
	must(strategy.UpdateNamed(nil, "subtract", 1, five))
	same := must(strategy.FindVariable("v"))
	succeeds(t, differ("the copy", mdist.Copy[float32](must(same.Tensor(1))), []float32{5}))
}

func TestFunctionsByNameFailWithTheirCause(t *testing.T) {
	strategy := newStrategy(2)
	defer strategy.Close()
	unlucky := errors.New("unlucky")
	succeeds(t, strategy.RegisterStep("bad", func(*mdist.Replica) error { return unlucky }))
	succeeds(t, strategy.RegisterUpdate("bad", func(int, mdist.Tensor, []mdist.Tensor) ([]*mdist.Value, error) {
		panic("there")
	}))
	if _, err := strategy.RunNamed("bad"); !errors.Is(err, unlucky) {
		t.Errorf("found %v", err)
	}
	var panicked *mdist.PanicError
	if _, err := strategy.UpdateNamed(nil, "bad", 0); !errors.As(err, &panicked) {
		t.Errorf("found %v", err)
	}
	if _, err := strategy.RunNamed("dab"); !errors.Is(err, mdist.ErrNotFound) || !strings.Contains(err.Error(), "bad") {
		t.Errorf("found %v", err)
	}
	if _, err := strategy.FindVariable("w"); !errors.Is(err, mdist.ErrNotFound) {
		t.Errorf("found %v", err)
	}
	if err := strategy.Serve(); !errors.Is(err, mdist.ErrFailedPrecondition) {
		t.Errorf("found %v", err)
	}
	works(t, strategy, strategy.Run)
}

func batches(strategy *mdist.Strategy, rows ...float32) *mdist.Iterator {
	dataset := must(mdist.NewDataset(mdist.TensorOf(rows, len(rows))))
	return must(must(must(dataset.Batch(2, false)).Distribute(strategy)).Iterate())
}

func TestALoopCollectsOutputs(t *testing.T) {
	strategy := newStrategy(2)
	defer strategy.Close()
	iterator := batches(strategy, 0, 1, 2, 3, 4, 5)
	defer iterator.Close()
	seen := 0
	loop, err := strategy.RunSteps(iterator, mdist.Forever, nil, func(loop *mdist.Loop, element *mdist.Value) error {
		if err := differ("iterations", loop.Iterations(), seen); err != nil {
			return err
		}
		seen++
		if _, err := loop.Outputs(); err == nil {
			return errors.New("outputs of a loop that runs")
		}
		if err := loop.SetOutput("last", element, mdist.AggregateNone); err != nil {
			return err
		}
		_, err := strategy.Run(func(replica *mdist.Replica) error {
			x, err := replica.Argument(0)
			if err != nil {
				return err
			}
			return replica.SetOutput(loop, "mean", x, mdist.AggregateMean)
		}, element)
		return err
	})
	succeeds(t, err)
	succeeds(t, differ("iterations", loop.Iterations(), 3))
	outputs := must(loop.Outputs())
	succeeds(t, differ("mean", mdist.Copy[float32](must(must(outputs.At("mean")).Tensor(0))), []float32{4.5}))
	succeeds(t, differ("last", mdist.Copy[float32](must(must(outputs.At("last")).Tensor(1))), []float32{5}))
}

func TestAFailureEndsALoopAndInitialOutputsStay(t *testing.T) {
	strategy := newStrategy(2)
	defer strategy.Close()
	iterator := batches(strategy, 0, 1, 2, 3)
	defer iterator.Close()
	unlucky := errors.New("unlucky")
	if _, err := strategy.RunSteps(iterator, 1, nil, func(*mdist.Loop, *mdist.Value) error { return unlucky }); !errors.Is(err, unlucky) {
		t.Errorf("found %v", err)
	}
	seven := must(mdist.NewValue(mdist.TensorOf([]float32{7}, 1)))
	initial := must(mdist.NewStructure(map[string]*mdist.Value{"loss": seven}))
	loop := must(strategy.RunSteps(iterator, 1, initial, func(*mdist.Loop, *mdist.Value) error { return nil }))
	loss := must(must(must(loop.Outputs()).At("loss")).Tensor(0))
	succeeds(t, differ("loss", mdist.Copy[float32](loss), []float32{7}))
	if _, err := strategy.RunSteps(iterator, -1, nil, nil); !errors.Is(err, mdist.ErrInvalidArgument) {
		t.Errorf("found %v", err)
	}
}

func TestGradientsInTheProgramsOwnMemory(t *testing.T) {
	strategy := newStrategy(2)
	defer strategy.Close()
	lent := func(first float32) ([]*mdist.Memory[float32], []mdist.Tensor) {
		memory := must(mdist.Alloc[float32](nil, 0, 2))
		memory.UnsafeSlice()[0], memory.UnsafeSlice()[1] = first, first+1
		return []*mdist.Memory[float32]{memory}, []mdist.Tensor{memory.Tensor()}
	}
	own := make([][]*mdist.Memory[float32], 2)
	tensors := make([][]mdist.Tensor, 2)
	moved := make([][]*mdist.Memory[float32], 2)
	elsewhere := make([][]mdist.Tensor, 2)
	for local := range own {
		own[local], tensors[local] = lent(float32(1 + 3*local))
		moved[local], elsewhere[local] = lent(10)
	}
	gradients := must(strategy.LendGradients(mdist.GradientsOptions{}, tensors...))
	round := func(at [][]mdist.Tensor) {
		_, err := strategy.Run(func(replica *mdist.Replica) error {
			var err error
			if at == nil {
				err = gradients.Ready(replica, 0)
			} else {
				err = gradients.ReadyAt(replica, 0, at[replica.LocalIndex()][0])
			}
			if err != nil {
				return err
			}
			_, _, err = gradients.Wait(replica)
			return err
		})
		succeeds(t, err)
	}
	round(nil)
	succeeds(t, differ("lent", own[0][0].UnsafeSlice(), []float32{5, 7}))
	round(elsewhere)
	succeeds(t, differ("said when ready", moved[1][0].UnsafeSlice(), []float32{20, 22}))
	for local := range elsewhere {
		succeeds(t, gradients.Lend(local, elsewhere[local]...))
	}
	round(nil)
	succeeds(t, differ("lent again", moved[0][0].UnsafeSlice(), []float32{40, 44}))
	slice := mdist.TensorOf([]float32{1, 2}, 2)
	if err := gradients.Lend(0, slice); err == nil || !strings.Contains(err.Error(), "mdist.Alloc") {
		t.Errorf("found %v", err)
	}
	if _, err := strategy.LendGradients(mdist.GradientsOptions{}, tensors[0]); !errors.Is(err, mdist.ErrInvalidArgument) {
		t.Errorf("found %v", err)
	}
}
