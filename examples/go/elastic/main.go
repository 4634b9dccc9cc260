// SPDX-License-Identifier: Apache-2.0

// Elastic is a training that goes on when a worker is killed, and ends with the same weights to the last bit:
//
//	export MDIST_ELASTIC_REPLICAS=4
//	mdist launch -n 1:2 -- elastic       # not disturbed
//	mdist launch -n 1:2 -- elastic 17    # in step 17 worker 1 kills itself; a new one takes its place
package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"

	"example.org/libmdist/src/go/mdist"
)

const (
	steps = 60
	every = 10
)

// training has what all workers create alike before the first step, newcomers too.
type training struct {
	strategy  *mdist.Strategy
	weight    *mdist.Variable
	gradients *mdist.Gradients
	random    []uint64 // a generator for each replica id
	rows      *mdist.Iterator
	at        uint64
	deadly    uint64 // in this step the worker kills itself
}

func newTraining(strategy *mdist.Strategy) (*training, error) {
	t := &training{strategy: strategy, random: make([]uint64, strategy.ReplicaCount()), deadly: steps}
	var err error
	t.weight, err = strategy.NewVariable("weight", mdist.TensorOf(make([]float32, 2), 2), mdist.VariableOptions{})
	if err != nil {
		return nil, err
	}
	like, err := t.weight.Tensor(0)
	if err != nil {
		return nil, err
	}
	if t.gradients, err = strategy.NewGradients(mdist.GradientsOptions{}, like); err != nil {
		return nil, err
	}
	_, err = strategy.NewBlob("random", 8, func(replica int, state []byte) error {
		binary.LittleEndian.PutUint64(state, t.random[replica])
		return nil
	}, func(replica int, state []byte) error {
		t.random[replica] = binary.LittleEndian.Uint64(state)
		return nil
	})
	if err != nil {
		return nil, err
	}
	t.rows, err = rows(strategy)
	return t, err
}

func rows(strategy *mdist.Strategy) (*mdist.Iterator, error) {
	dataset, err := mdist.NewRange(0, 100, 1)
	for _, change := range []func(*mdist.Dataset) (*mdist.Dataset, error){
		func(d *mdist.Dataset) (*mdist.Dataset, error) { return d.Shuffle(100, 5, true) },
		func(d *mdist.Dataset) (*mdist.Dataset, error) { return d.Repeat(1000) },
		func(d *mdist.Dataset) (*mdist.Dataset, error) { return d.Batch(8, true) },
		func(d *mdist.Dataset) (*mdist.Dataset, error) { return d.Distribute(strategy) },
	} {
		if err == nil {
			dataset, err = change(dataset)
		}
	}
	if err != nil {
		return nil, err
	}
	return dataset.Iterate()
}

func (t *training) step(replica *mdist.Replica) error {
	if t.at == t.deadly {
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	own, err := t.weight.Tensor(replica.LocalIndex())
	if err != nil {
		return err
	}
	memory, err := t.gradients.Tensor(replica.LocalIndex(), 0)
	if err != nil {
		return err
	}
	batch, err := replica.Argument(0)
	if err != nil {
		return err
	}
	weight, gradient := mdist.UnsafeSlice[float32](own), mdist.UnsafeSlice[float32](memory)
	gradient[0], gradient[1] = 0, 0
	state := &t.random[replica.ID()]
	for _, row := range mdist.UnsafeSlice[int64](batch) {
		*state = *state*6364136223846793005 + 1442695040888963407
		noise := float32(*state>>40)/16777216 - 0.5
		x := float32(row) / 100
		wrong := weight[0]*x + weight[1] - (3*x + 0.1*noise)
		gradient[0] += wrong * x
		gradient[1] += wrong
	}
	if err := t.gradients.Ready(replica, 0); err != nil {
		return err
	}
	if _, _, err := t.gradients.Wait(replica); err != nil {
		return err
	}
	for i := range weight {
		weight[i] -= 0.02 * gradient[i]
	}
	return nil
}

// changed says whether newcomers wait. All workers ask.
func (t *training) changed() (bool, error) {
	verdict, _, err := t.strategy.CheckMembership()
	return verdict == mdist.RegroupAndOn, err
}

// goOn makes one step, and now and then a commit. Then it says whether newcomers wait; after the last step all meet here.
func (t *training) goOn() (bool, error) {
	if t.at == steps { // they have regrouped after the last step
		return t.changed()
	}
	batch, err := t.rows.Next()
	if err != nil {
		return false, err
	}
	if _, err := t.strategy.Run(t.step, batch...); err != nil {
		return false, err
	}
	if t.at++; t.at%every != 0 {
		return false, nil
	}
	if err := t.strategy.Commit(t.at); err != nil {
		return false, err
	}
	return t.changed()
}

func (t *training) train(full int) error {
	regroup := t.strategy.IsJoining()
	for regroup || t.at < steps {
		if regroup {
			change, err := t.strategy.Regroup() // fails if what failed was no loss of a worker
			if err != nil {
				return err
			}
			t.at, t.deadly = change.Step, steps
			if change.WorkerCount < full { // Not needed: the job could go on with those that are left.
				if err := t.awaitNewcomers(); err != nil {
					return err
				}
				continue
			}
		}
		var err error
		if regroup, err = t.goOn(); err != nil {
			var failed *mdist.Error
			if !errors.As(err, &failed) {
				return err
			}
			regroup = true
		}
	}
	return nil
}

func (t *training) awaitNewcomers() error {
	for {
		changed, err := t.changed()
		if err != nil {
			return err
		}
		if changed {
			return t.strategy.Commit(t.at)
		}
	}
}

func run() error {
	strategy, err := mdist.NewStrategy(nil)
	if err != nil {
		return err
	}
	defer strategy.Close()
	t, err := newTraining(strategy)
	if err != nil {
		return err
	}
	if len(os.Args) > 1 && strategy.Rank() == 1 && !strategy.IsJoining() {
		if t.deadly, err = strconv.ParseUint(os.Args[1], 10, 64); err != nil {
			return err
		}
	}
	full, err := strconv.Atoi(os.Getenv("MDIST_ELASTIC_MAX_WORKERS"))
	if err != nil {
		return err
	}
	if err := t.train(full); err != nil {
		return err
	}
	tensor, err := t.weight.Tensor(0)
	if err != nil {
		return err
	}
	if strategy.IsChief() {
		fmt.Println("weights:", mdist.Copy[float32](tensor))
	}
	_, _, err = strategy.CheckMembership() // all have read
	return err
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "elastic:", err)
		os.Exit(1)
	}
}
