// SPDX-License-Identifier: Apache-2.0

// Workers is what two workers of two replicas do together. Each is started with this program; with the argument
// in_graph, one leads the other. The check runs it.
package main

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"example.org/libmdist/src/go/mdist"
)

func main() {
	strategy, err := newStrategy()
	if err == nil {
		defer strategy.Close()
		if len(os.Args) > 1 && os.Args[1] == "in_graph" {
			err = inGraph(strategy)
		} else {
			err = together(strategy)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "workers:", err)
		os.Exit(1)
	}
}

// newStrategy sets a key of the program's own: the config still knows the job, and the devices of the environment.
func newStrategy() (*mdist.Strategy, error) {
	config, err := mdist.NewConfig()
	if err != nil {
		return nil, err
	}
	defer config.Close()
	if err := config.Set("communication.timeout", "100s"); err != nil {
		return nil, err
	}
	strategy, err := mdist.NewStrategy(config)
	if err != nil {
		return nil, err
	}
	return strategy, same("workers and rank", []any{strategy.WorkerCount(), strategy.Rank()}, []any{2, os.Getenv("MDIST_RANK")})
}

func same(what string, found, expected any) error {
	if fmt.Sprint(found) != fmt.Sprint(expected) {
		return fmt.Errorf("%s: %v, not %v", what, found, expected)
	}
	return nil
}

func compose(left, right, out []int64) error {
	for i := 0; i < len(out); i += 2 {
		out[i], out[i+1] = left[i]*right[i], left[i+1]*right[i]+right[i+1]
	}
	return nil
}

// together uses operators, groups, parts, prepared calls and functions for the end of works.
func together(strategy *mdist.Strategy) error {
	operator, err := mdist.NewOperator("affine", 2, compose)
	if err != nil {
		return err
	}
	defer operator.Close()
	crossed, err := strategy.NewGroup(3, 0) // of both workers
	if err != nil {
		return err
	}
	middle, err := strategy.NewGroup(2, 1) // of both workers, too
	if err != nil {
		return err
	}
	var memories [2]*mdist.Memory[int16]
	var pairs [2]*mdist.Memory[int64]
	var calls, inMiddle [2]*mdist.Prepared
	for local := range calls {
		if memories[local], err = mdist.Alloc[int16](nil, 0, 1); err != nil {
			return err
		}
		if calls[local], err = strategy.Prepare(local).AllReduce(mdist.Xor, memories[local].Buffer()); err != nil {
			return err
		}
		id := strategy.FirstReplicaID() + local
		memories[local].UnsafeSlice()[0] = 1 << id
		if middle.Position(id) < 0 {
			continue
		}
		if pairs[local], err = mdist.Alloc[int64](nil, 0, 2); err != nil {
			return err
		}
		copy(pairs[local].UnsafeSlice(), []int64{int64(id) + 2, 3*int64(id) + 1})
		own := strategy.Prepare(local).InGroup(middle)
		if inMiddle[local], err = own.AllReduce(operator.Op(), pairs[local].Buffer()); err != nil {
			return err
		}
	}
	middle.Close() // its calls keep what they need of it
	var ends int32
	_, err = strategy.Run(func(replica *mdist.Replica) error {
		id := replica.ID()
		own := []int64{int64(id) + 2, 3*int64(id) + 1}
		if err := mdist.AllReduce(replica, operator.Op(), own); err != nil {
			return err
		}
		// (2, 1), (3, 4), (4, 7), (5, 10), one after another
		if err := same("the operator", own, []int64{120, 185}); err != nil {
			return err
		}
		if crossed.Position(id) >= 0 {
			both := make([]int32, 2)
			if err := mdist.AllGather(replica.InGroup(crossed), []int32{int32(id)}, both); err != nil {
				return err
			}
			if err := same("the group", both, []int32{3, 0}); err != nil {
				return err
			}
		}
		var expected []int32
		for from := 0; from < 4; from++ {
			for i := 0; i < id; i++ {
				expected = append(expected, int32(from))
			}
		}
		given, taken := make([]int32, 6), make([]int32, len(expected))
		for i := range given {
			given[i] = int32(id)
		}
		if err := mdist.AllToAllParts(replica, given, []int{0, 1, 2, 3}, taken, []int{id, id, id, id}); err != nil {
			return err
		}
		if err := same("parts", taken, expected); err != nil {
			return err
		}
		received := make([]int32, 6)
		if err := mdist.Send(replica, (id+1)%4, 9, given); err != nil {
			return err
		}
		if err := mdist.Receive(replica, (id+3)%4, 9, received); err != nil {
			return err
		}
		if err := same("a message", received[5], (id+3)%4); err != nil {
			return err
		}
		call, memory := calls[replica.LocalIndex()], memories[replica.LocalIndex()]
		if err := call.Run(replica); err != nil {
			return err
		}
		if err := same("a prepared call", memory.UnsafeSlice(), []int16{15}); err != nil {
			return err
		}
		if other := inMiddle[replica.LocalIndex()]; other != nil {
			if err := other.Run(replica); err != nil {
				return err
			}
			// (4, 7), then (3, 4)
			if err := same("prepared in a group", pairs[replica.LocalIndex()].UnsafeSlice(), []int64{12, 25}); err != nil {
				return err
			}
		}
		work, err := call.Start(replica)
		if err != nil {
			return err
		}
		defer work.Close()
		if err := work.OnDone(func(err error) {
			if err == nil {
				atomic.AddInt32(&ends, 1)
			}
		}); err != nil {
			return err
		}
		if err := work.Wait(); err != nil {
			return err
		}
		return same("started", memory.UnsafeSlice(), []int16{0})
	})
	if err == nil {
		err = same("ends of operations", ends, 2)
	}
	if err == nil {
		fmt.Println("together")
	}
	return err
}

var errUnlucky = errors.New("unlucky")

func register(strategy *mdist.Strategy) error {
	if err := strategy.RegisterStep("train", func(replica *mdist.Replica) error {
		variable, err := strategy.FindVariable("w")
		if err != nil {
			return err
		}
		defer variable.Close()
		copy, err := variable.Tensor(replica.LocalIndex())
		if err != nil {
			return err
		}
		x, err := replica.Argument(0)
		if err != nil {
			return err
		}
		sum := mdist.UnsafeSlice[float32](x)[0] + mdist.UnsafeSlice[float32](copy)[0] + float32(replica.ID())
		return replica.SetResult(0, mdist.TensorOf([]float32{sum}, 1))
	}); err != nil {
		return err
	}
	if err := strategy.RegisterStep("fail", func(replica *mdist.Replica) error {
		if replica.ID() == 2 {
			return errUnlucky
		}
		return nil
	}); err != nil {
		return err
	}
	return strategy.RegisterUpdate("subtract", func(_ int, copy mdist.Tensor, given []mdist.Tensor) ([]*mdist.Value, error) {
		mdist.UnsafeSlice[float32](copy)[0] -= mdist.UnsafeSlice[float32](given[0])[0]
		return nil, nil
	})
}

func inGraph(strategy *mdist.Strategy) error {
	if err := register(strategy); err != nil {
		return err
	}
	if strategy.Rank() != 0 {
		if err := strategy.Serve(); !errors.Is(err, errUnlucky) {
			return fmt.Errorf("served: %w", err)
		}
		fmt.Println("worker 1: unlucky")
		return nil
	}
	variable, err := strategy.NewVariable("w", mdist.TensorOf([]float32{10}, 1), mdist.VariableOptions{})
	if err != nil {
		return err
	}
	one, err := mdist.NewValue(mdist.TensorOf([]float32{1}, 1))
	if err != nil {
		return err
	}
	if _, err := strategy.UpdateNamed(variable, "subtract", 0, one); err != nil {
		return err
	}
	found, err := strategy.RunNamed("train", one)
	if err != nil {
		return err
	}
	for id := 0; id < 4; id++ {
		tensor, err := found[0].Tensor(id)
		if err != nil {
			return err
		}
		if err := same("a result", mdist.Copy[float32](tensor), []float32{10 + float32(id)}); err != nil {
			return err
		}
	}
	var failed *mdist.Error
	if _, err := strategy.RunNamed("fail"); !errors.As(err, &failed) || failed.Replica != 2 {
		return fmt.Errorf("a step that fails elsewhere: %w", err)
	}
	fmt.Println("client: replica 2 failed")
	return nil
}
