// SPDX-License-Identifier: Apache-2.0

package mdist_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"example.org/libmdist/src/go/mdist"
)

// The training of tests/ffi/gradients.c. It ends in the same bits.
const (
	points  = 4
	rounds  = 2
	weights = 5
)

func input(id, round, point, weight int) float64 {
	number := float64((id*rounds+round)*points + point)
	return (number-11.5)/8 + float64((weight*7+point*3)%5)*0.25
}

// compute writes a replica's gradients for the points of one round. Products are converted, so that no compiler fuses
// them with the sum.
func compute(replica *mdist.Replica, gradients *mdist.Gradients, parameters []float64, round int) error {
	var wrong [points]float64
	for i := range wrong {
		found, wanted := parameters[weights], 3.0
		for j := 0; j < weights; j++ {
			x := input(replica.ID(), round, i, j)
			found += float64(parameters[j] * x)
			wanted += float64((0.5 - 0.125*float64(j)) * x)
		}
		wrong[i] = found - wanted
	}
	b, err := gradients.Tensor(replica.LocalIndex(), 1)
	if err != nil {
		return err
	}
	sum := mdist.UnsafeSlice[float64](b)
	sum[0] = 0
	for _, one := range wrong {
		sum[0] += one / points
	}
	if err := gradients.Ready(replica, 1); err != nil {
		return err
	}
	a, err := gradients.Tensor(replica.LocalIndex(), 0)
	if err != nil {
		return err
	}
	for j := range mdist.UnsafeSlice[float64](a) {
		sum := &mdist.UnsafeSlice[float64](a)[j]
		*sum = 0
		for i, one := range wrong {
			*sum += float64(one*input(replica.ID(), round, i, j)) / points
		}
	}
	return gradients.Ready(replica, 0)
}

func train(replica *mdist.Replica, gradients *mdist.Gradients, parameters []float64, norm *float64) error {
	for round := 0; round < rounds; round++ {
		if round+1 < rounds {
			if err := gradients.Accumulate(replica); err != nil {
				return err
			}
		}
		if err := compute(replica, gradients, parameters, round); err != nil {
			return err
		}
		found, finite, err := gradients.Wait(replica)
		if err != nil || !finite {
			return fmt.Errorf("finite: %v, %w", finite, err)
		}
		*norm = found
	}
	a, err := gradients.Tensor(replica.LocalIndex(), 0)
	if err != nil {
		return err
	}
	b, err := gradients.Tensor(replica.LocalIndex(), 1)
	if err != nil {
		return err
	}
	for j, one := range mdist.UnsafeSlice[float64](a) {
		parameters[j] -= float64(0.25 * one)
	}
	parameters[weights] -= float64(0.25 * mdist.Copy[float64](b)[0])
	return nil
}

func TestTrainingWithGradientsEndsInTheBitsOfTheCProgram(t *testing.T) {
	program := os.Getenv("FFI_GRADIENTS")
	if program == "" {
		t.Skip("FFI_GRADIENTS does not name the program of tests/ffi/gradients.c")
	}
	expected := string(must(exec.Command(program).Output()))
	eachWay(t, 2, func(t *testing.T, strategy *mdist.Strategy, run run) {
		options := mdist.GradientsOptions{Op: mdist.Mean, BucketBytes: 8, ClipNorm: 1}
		gradients := must(strategy.NewGradients(options, mdist.Describe[float64](weights), mdist.Describe[float64]()))
		defer gradients.Close()
		var parameters [2][weights + 1]float64
		var norms [2]float64
		var output strings.Builder
		for step := 0; step < 25; step++ {
			_, err := run(func(replica *mdist.Replica) error {
				id := replica.ID()
				return train(replica, gradients, parameters[id][:], &norms[id])
			})
			succeeds(t, err)
			fmt.Fprintf(&output, "norm %016x\n", math.Float64bits(norms[0]))
		}
		for _, one := range parameters[0] {
			fmt.Fprintf(&output, "parameter %016x\n", math.Float64bits(one))
		}
		equal(t, "the output", output.String(), expected)
		equal(t, "replica 1", parameters[1], parameters[0])
	})
}

func TestARoundEndsByAskingInALoop(t *testing.T) {
	eachWay(t, 2, func(t *testing.T, strategy *mdist.Strategy, run run) {
		gradients := must(strategy.NewGradients(mdist.GradientsOptions{}, mdist.Describe[float32](3)))
		defer gradients.Close()
		_, err := run(func(replica *mdist.Replica) error {
			one, err := gradients.Tensor(replica.LocalIndex(), 0)
			if err != nil {
				return err
			}
			copy(mdist.UnsafeSlice[float32](one), []float32{1, 1, 1})
			if err := gradients.Ready(replica, 0); err != nil {
				return err
			}
			for {
				done, norm, finite, err := gradients.Test(replica)
				if err != nil {
					return err
				}
				if !done {
					runtime.Gosched()
					continue
				}
				if norm != math.Sqrt(12) || !finite {
					return fmt.Errorf("norm %v, finite %v", norm, finite)
				}
				return nil
			}
		})
		succeeds(t, err)
		equal(t, "the sum", mdist.Copy[float32](must(gradients.Tensor(1, 0))), []float32{2, 2, 2})
	})
}

func TestGradientsThatAreMissingOrReadyTwiceAreRefused(t *testing.T) {
	eachWay(t, 2, func(t *testing.T, strategy *mdist.Strategy, run run) {
		weights := must(strategy.NewVariable("weights", mdist.Describe[float32](2), mdist.VariableOptions{}))
		bias := must(strategy.NewVariable("bias", mdist.Describe[float32](), mdist.VariableOptions{}))
		like := []mdist.Tensor{must(weights.Tensor(0)), must(bias.Tensor(0))}
		half := func(gradients *mdist.Gradients) mdist.Step {
			return func(replica *mdist.Replica) error {
				one, err := gradients.Tensor(replica.LocalIndex(), 0)
				if err != nil {
					return err
				}
				mdist.UnsafeSlice[float32](one)[1] = 1
				if err := gradients.Ready(replica, 0); err != nil {
					return err
				}
				_, _, err = gradients.Wait(replica)
				return err
			}
		}
		gradients := must(strategy.NewGradients(mdist.GradientsOptions{}, like...))
		equal(t, "count", gradients.Count(), 2)
		_, err := run(half(gradients))
		var failure *mdist.Error
		if !errors.As(err, &failure) || failure.Reason != "gradients_missing" || !strings.Contains(err.Error(), "bias") {
			t.Errorf("a missing gradient: %v", err)
		}
		_, err = run(func(replica *mdist.Replica) error {
			if err := gradients.Ready(replica, 1); err != nil {
				return err
			}
			return gradients.Ready(replica, 1)
		})
		if !errors.As(err, &failure) || failure.Reason != "ready_twice" {
			t.Errorf("ready twice: %v", err)
		}
		gradients.Close()
		if _, err := gradients.Tensor(0, 0); !errors.Is(err, mdist.ErrBadHandle) {
			t.Errorf("closed gradients: %v", err)
		}

		gradients = must(strategy.NewGradients(mdist.GradientsOptions{ZeroMissing: true}, like...))
		mdist.UnsafeSlice[float32](must(gradients.Tensor(1, 1)))[0] = 5
		_, err = run(half(gradients))
		succeeds(t, err)
		equal(t, "the sum", mdist.Copy[float32](must(gradients.Tensor(1, 0))), []float32{0, 2})
		equal(t, "the missing one", mdist.Copy[float32](must(gradients.Tensor(1, 1))), []float32{0})
		if _, err := gradients.Tensor(0, -1); !errors.Is(err, mdist.ErrInvalidArgument) {
			t.Errorf("gradient -1: %v", err)
		}
		works(t, strategy, run)
	})
}
