// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"hash/fnv"
	"math"

	"example.org/libmdist/src/go/mdist"
)

const initialSeed = 1

// trainer holds the model on a strategy. Parameters and momentum are mirrored variables. Their copies are equal between
// steps, because all replicas apply the same reduced gradients.
type trainer struct {
	strategy *mdist.Strategy
	replicas []replicaState
	rate     float32 // learning rate of the next step
	decay    float32 // momentum is multiplied by this in each step
}

// replicaState has one replica's copies of the variables and its scratch memory.
type replicaState struct {
	parameters, momentum, gradients tensors
	workspace                       workspace
	totals                          []float64
}

// newTrainer allocates memory for the largest number of rows that a replica gets in a step.
func newTrainer(strategy *mdist.Strategy, maxRows int) (*trainer, error) {
	t := &trainer{strategy: strategy, rate: 0.1, decay: 0.9}
	for local := 0; local < strategy.LocalReplicaCount(); local++ {
		state := replicaState{workspace: newWorkspace(maxRows), totals: make([]float64, totalCount)}
		for i, part := range parts {
			state.gradients[i] = make([]float32, part.elements())
		}
		t.replicas = append(t.replicas, state)
	}
	for i, initial := range initialise(initialSeed) {
		tensor := mdist.TensorOf(initial, parts[i].shape...)
		err := t.newVariable(parts[i].name, tensor, func(r *replicaState) *[]float32 { return &r.parameters[i] })
		if err != nil {
			return nil, err
		}
	}
	for i, part := range parts {
		zeros := mdist.Describe[float32](part.shape...)
		err := t.newVariable(part.name+"/momentum", zeros, func(r *replicaState) *[]float32 { return &r.momentum[i] })
		if err != nil {
			return nil, err
		}
	}
	return t, nil
}

// newVariable creates a variable and gives each replica a slice over its own copy. The copy never moves. The strategy
// keeps the variable.
func (t *trainer) newVariable(name string, initial mdist.Tensor, place func(*replicaState) *[]float32) error {
	variable, err := t.strategy.NewVariable(name, initial, mdist.VariableOptions{})
	if err != nil {
		return err
	}
	for local := range t.replicas {
		own, err := variable.Tensor(local)
		if err != nil {
			return err
		}
		*place(&t.replicas[local]) = mdist.UnsafeSlice[float32](own)
	}
	return nil
}

// part returns the state of a replica and its rows of the batch.
func (t *trainer) part(replica *mdist.Replica) (mine *replicaState, images []float32, labels []uint8, err error) {
	first, err := replica.Argument(0)
	if err != nil {
		return nil, nil, nil, err
	}
	second, err := replica.Argument(1)
	if err != nil {
		return nil, nil, nil, err
	}
	return &t.replicas[replica.LocalIndex()], mdist.UnsafeSlice[float32](first), mdist.UnsafeSlice[uint8](second), nil
}

func (t *trainer) trainStep(replica *mdist.Replica) error {
	mine, images, labels, err := t.part(replica)
	if err != nil {
		return err
	}
	gradients(&mine.parameters, images, labels, &mine.workspace, &mine.gradients, mine.totals)

	// One operation sums the gradients and the number of rows. Dividing by the rows of all replicas gives the mean over
	// the batch, even if the replicas have different numbers of rows, or none, as in a last batch.
	buffers := make([]mdist.Buffer, 0, partCount+1)
	for _, gradient := range mine.gradients {
		buffers = append(buffers, mdist.Of(gradient))
	}
	if err := replica.AllReduce(mdist.Sum, append(buffers, mdist.Of(mine.totals))...); err != nil {
		return err
	}

	// The reduced gradients have the same bits on every replica, so the copies stay equal.
	update(&mine.parameters, &mine.momentum, &mine.gradients, float32(1/mine.totals[totalRows]), t.rate, t.decay)
	return nil
}

func (t *trainer) evaluateStep(replica *mdist.Replica) error {
	mine, images, labels, err := t.part(replica)
	if err != nil {
		return err
	}
	evaluate(&mine.parameters, images, labels, &mine.workspace, mine.totals)
	return mdist.AllReduce(replica, mdist.Sum, mine.totals)
}

// run runs a step on a batch, closes the batch, and returns the totals over all replicas' rows.
func (t *trainer) run(step mdist.Step, batch []*mdist.Value) ([]float64, error) {
	defer func() {
		for _, value := range batch {
			value.Close()
		}
	}()
	_, err := t.strategy.Run(step, batch...)
	return t.replicas[0].totals, err
}

// digest returns a checksum over all variables of a local replica, in the order of their creation.
func (t *trainer) digest(local int) uint64 {
	sum := fnv.New64a()
	var bytes [4]byte
	for _, all := range []tensors{t.replicas[local].parameters, t.replicas[local].momentum} {
		for _, numbers := range all {
			for _, x := range numbers {
				binary.LittleEndian.PutUint32(bytes[:], math.Float32bits(x))
				sum.Write(bytes[:])
			}
		}
	}
	return sum.Sum64()
}
