// SPDX-License-Identifier: Apache-2.0

package mdist_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"unsafe"

	"example.org/libmdist/src/go/mdist"
)

// The tests of GPUs run where the library's module for them is a fake, whose memory crashes whoever touches it from the
// host.
func newGPUStrategy(t *testing.T) *mdist.Strategy {
	t.Helper()
	if !strings.HasPrefix(os.Getenv("MDIST_FAKE_GPU"), "devices=2") {
		t.Skip("no fake GPUs")
	}
	config := must(mdist.NewConfig())
	defer config.Close()
	succeeds(t, config.Set("devices", "gpu:0,gpu:1"))
	return must(mdist.NewStrategy(config))
}

func TestGPUsAreCountedAndNamed(t *testing.T) {
	newGPUStrategy(t).Close()
	count, text, err := mdist.GPUs()
	succeeds(t, err)
	equal(t, "count", count, 2)
	equal(t, "names gpu:1", strings.Contains(text, "gpu:1"), true)
}

func TestGPUTensorsSayWhereTheyLieAndAreNoSlices(t *testing.T) {
	strategy := newGPUStrategy(t)
	defer strategy.Close()
	variable := must(strategy.NewVariable("w", mdist.TensorOf([]float32{1, 2}), mdist.VariableOptions{}))
	tensor := must(variable.Tensor(1))
	equal(t, "device", tensor.Device(), "gpu:1")
	equal(t, "device of a slice", mdist.TensorOf([]int8{1}).Device(), "cpu:0")
	same := must(mdist.TensorAt[float32](tensor.Address(), 2))
	equal(t, "device of an address", same.Device(), "gpu:1")
	defer func() {
		text, _ := recover().(string)
		equal(t, "the panic names Copy: "+text, strings.Contains(text, "Replica.Copy"), true)
	}()
	mdist.Copy[float32](tensor)
}

func TestGPUMemoryIsCopiedBothWays(t *testing.T) {
	strategy := newGPUStrategy(t)
	defer strategy.Close()
	zeros := mdist.Describe[float32](2, 2)
	a := must(must(strategy.NewVariable("a", zeros, mdist.VariableOptions{})).Tensor(0))
	b := must(must(strategy.NewVariable("b", zeros, mdist.VariableOptions{})).Tensor(1))
	here := make([]float32, 4)
	succeeds(t, mdist.CopyTensor(a, mdist.TensorOf([]float32{1, 2, 3, 4}, 2, 2)))
	succeeds(t, mdist.CopyTensor(b, a))
	succeeds(t, mdist.CopyTensor(mdist.TensorOf(here, 2, 2), b))
	equal(t, "copied", here, []float32{1, 2, 3, 4})
	if err := mdist.CopyTensor(a, mdist.TensorOf(here)); !errors.Is(err, mdist.ErrInvalidArgument) {
		t.Errorf("another shape: %v", err)
	}

	pinned := must(mdist.AllocPinned[float32](4))
	defer pinned.Free()
	equal(t, "new", pinned.UnsafeSlice(), make([]float32, 4))
	succeeds(t, mdist.CopyTensor(mdist.TensorOf(pinned.UnsafeSlice(), 2, 2), b))
	equal(t, "copied to pinned memory", pinned.UnsafeSlice(), here)
	if _, err := mdist.Alloc[float32](strategy, 1, 1); err == nil || !strings.Contains(err.Error(), "mdist.Copy") {
		t.Errorf("a slice on a GPU: %v", err)
	}
}

func TestGPUGraphsAreRecordedOnce(t *testing.T) {
	newGPUStrategy(t).Close()
	for devices, times := range map[string]int{"gpu:0": 1, "cpu": 3} {
		config := must(mdist.NewConfig())
		succeeds(t, config.Set("devices", devices))
		strategy := must(mdist.NewStrategy(config))
		from := must(must(strategy.NewVariable("f", mdist.Describe[float32](1), mdist.VariableOptions{})).Tensor(0))
		to := must(must(strategy.NewVariable("t", mdist.Describe[float32](1), mdist.VariableOptions{})).Tensor(0))
		calls := 0
		for i := float32(0); i < 3; i++ {
			succeeds(t, mdist.CopyTensor(from, mdist.TensorOf([]float32{i})))
			_, err := strategy.Run(func(replica *mdist.Replica) error {
				return replica.Graph(7, func() error {
					calls++
					return replica.CopyTensor(to, from)
				})
			})
			succeeds(t, err)
			here := []float32{-1}
			succeeds(t, mdist.CopyTensor(mdist.TensorOf(here), to))
			equal(t, "copied by the graph", here, []float32{i})
		}
		equal(t, "calls on "+devices, calls, times)
		strategy.Close()
		config.Close()
	}
}

func TestGPUStepsWorkOnTheirStream(t *testing.T) {
	strategy := newGPUStrategy(t)
	defer strategy.Close()
	variable := must(strategy.NewVariable("w", mdist.Describe[float32](2), mdist.VariableOptions{}))
	streams := make([]unsafe.Pointer, 2)
	for _, run := range []run{strategy.Run, strategy.RunGoroutines} {
		results, err := run(func(replica *mdist.Replica) error {
			stream, err := replica.Stream()
			if err != nil {
				return err
			}
			streams[replica.LocalIndex()] = stream
			if err := replica.UseStream(stream); err != nil {
				return err
			}
			own, err := variable.Tensor(replica.LocalIndex())
			if err != nil {
				return err
			}
			if err := replica.CopyTensor(own, mdist.TensorOf([]float32{1, float32(replica.ID())})); err != nil {
				return err
			}
			if err := replica.AllReduce(mdist.Sum, own.Buffer()); err != nil {
				return err
			}
			sum := make([]float32, 2)
			if err := replica.CopyTensor(mdist.TensorOf(sum), own); err != nil {
				return err
			}
			if err := differ("the sum", sum, []float32{2, 1}); err != nil {
				return err
			}
			if err := replica.UseStream(nil); err != nil {
				return err
			}
			return replica.SetResult(0, own)
		})
		succeeds(t, err)
		result := must(results[0].Tensor(1))
		equal(t, "device of the result", result.Device(), "gpu:1")
		there := make([]float32, 2)
		succeeds(t, mdist.CopyTensor(mdist.TensorOf(there), result))
		equal(t, "result", there, []float32{2, 1})
	}
	equal(t, "streams of their own", streams[0] != nil && streams[1] != nil && streams[0] != streams[1], true)
}

func TestCPUReplicasHaveNoStream(t *testing.T) {
	eachWay(t, 1, func(t *testing.T, strategy *mdist.Strategy, run run) {
		_, err := run(func(replica *mdist.Replica) error {
			stream, err := replica.Stream()
			if err != nil {
				return err
			}
			if err := differ("the stream", stream, unsafe.Pointer(nil)); err != nil {
				return err
			}
			var other int
			if err := replica.UseStream(unsafe.Pointer(&other)); !errors.Is(err, mdist.ErrInvalidArgument) {
				t.Errorf("a stream: %v", err)
			}
			return replica.UseStream(nil)
		})
		succeeds(t, err)
	})
}
