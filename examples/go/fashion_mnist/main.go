// SPDX-License-Identifier: Apache-2.0

/*
Fashion_mnist trains a small network on several mirrored replicas. The network classifies images of clothes into ten
kinds. It computes the same as the C program of that name and ends with the same weights, bit for bit.

One step with two replicas and a batch of 128:

 1. The dataset gives a batch and splits it: 64 images for each replica (input.go).
 2. Run calls the step once per replica, both at the same time (trainer.go).
 3. Each replica computes gradients on its own images with its own copy of the weights (model.go).
 4. One AllReduce sums the gradients, the loss, the correct answers and the rows of both replicas.
 5. Each replica updates its own copy. Equal weights and equal gradients give equal weights.
*/
package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"example.org/libmdist/src/go/mdist"
)

const (
	firstRate   = float32(0.1) // learning rate of the first step; it falls linearly to 0
	shuffleSeed = 1234         // must not be 0
)

// job is one training run, from files to accuracy.
type job struct {
	options
	trainer        *trainer
	training, test *mdist.Dataset
	images         int // for training
	steps          int // taken so far
}

func main() {
	if err := work(); err != nil {
		fmt.Fprintln(os.Stderr, "fashion_mnist:", err)
		os.Exit(1)
	}
}

func work() error {
	options, err := parseOptions()
	if err != nil {
		return err
	}
	j := &job{options: options}
	if err := j.prepare(); err != nil {
		return err
	}
	defer j.trainer.strategy.Close()
	fmt.Printf("%d images, %d replicas, batches of %d\n", j.images, j.replicas, j.batch)
	for epoch := 1; epoch <= j.epochs && !j.stopHere(); epoch++ {
		if err := j.train(epoch); err != nil {
			return err
		}
	}
	accuracy, err := j.evaluate()
	if err != nil {
		return err
	}
	return j.report(accuracy)
}

func (j *job) prepare() error {
	useOneThreadPerProduct()
	training, err := loadSet(j.data, "train")
	if err != nil {
		return err
	}
	test, err := loadSet(j.data, "t10k")
	if err != nil {
		return err
	}
	j.images = len(training.labels)
	config, err := mdist.NewConfig()
	if err != nil {
		return err
	}
	if err := config.Set("devices", fmt.Sprintf("cpu*%d", j.replicas)); err != nil {
		return err
	}
	strategy, err := mdist.NewStrategy(config)
	if err != nil {
		return err
	}
	if j.trainer, err = newTrainer(strategy, j.batch); err != nil {
		return err
	}
	if j.training, err = newInput(strategy, training, j.batch, shuffleSeed); err != nil {
		return err
	}
	j.test, err = newInput(strategy, test, j.batch, 0)
	return err
}

func (j *job) stopHere() bool { return j.limitSteps != 0 && j.steps >= j.limitSteps }

func (j *job) train(epoch int) error {
	start := time.Now()
	perEpoch := (j.images + j.batch - 1) / j.batch
	seen, err := overAll(j.training, func(batch []*mdist.Value) ([]float64, error) {
		if j.stopHere() {
			return nil, io.EOF
		}
		j.trainer.rate = firstRate * (1 - float32(j.steps)/float32(perEpoch*j.epochs))
		j.steps++
		return j.trainer.run(j.trainer.trainStep, batch)
	})
	if err != nil {
		return err
	}
	seconds, rows := time.Since(start).Seconds(), seen[totalRows]
	fmt.Printf("epoch %d/%d  loss %.4f  accuracy %.4f  %.0f images/s  %.1f s\n", epoch, j.epochs, seen[totalLoss]/rows,
		seen[totalCorrect]/rows, rows/seconds, seconds)
	return nil
}

func (j *job) evaluate() (accuracy float64, err error) {
	seen, err := overAll(j.test, func(batch []*mdist.Value) ([]float64, error) {
		return j.trainer.run(j.trainer.evaluateStep, batch)
	})
	return seen[totalCorrect] / seen[totalRows], err
}

// overAll calls a function for every batch until it returns io.EOF, and sums the totals that it returns.
func overAll(dataset *mdist.Dataset,
	function func(batch []*mdist.Value) ([]float64, error)) (seen [totalCount]float64, err error) {
	iterator, err := dataset.Iterate()
	if err != nil {
		return seen, err
	}
	defer iterator.Close()
	for {
		batch, err := iterator.Next()
		var totals []float64
		if err == nil {
			totals, err = function(batch)
		}
		if err == io.EOF {
			return seen, nil
		}
		if err != nil {
			return seen, err
		}
		for i := range seen {
			seen[i] += totals[i]
		}
	}
}

func (j *job) report(accuracy float64) error {
	digest := j.trainer.digest(0)
	for local := 1; local < len(j.trainer.replicas); local++ {
		if j.trainer.digest(local) != digest {
			return fmt.Errorf("replica %d ended with other weights than replica 0", local)
		}
	}
	fmt.Printf("weights digest: %016x\n", digest)
	fmt.Printf("test accuracy: %.4f\n", accuracy)
	return nil
}
