// SPDX-License-Identifier: Apache-2.0

package mdist_test

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.org/libmdist/src/go/mdist"
)

// usage is what a process holds. Of threads the library's alone count: Go keeps one for each call into C that was under way
// at the same time, which depends on the machine.
type usage struct{ pages, files, threads int }

// measure waits for the library's threads first: no Close waits for them, and strategies of other tests were forgotten.
func measure() (u usage) {
	for end := time.Now().Add(20 * time.Second); libraryThreads() > 0 && time.Now().Before(end); {
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	finalize()
	debug.FreeOSMemory()
	var size int
	text := must(os.ReadFile("/proc/self/statm"))
	must(fmt.Sscan(string(text), &size, &u.pages))
	u.files, u.threads = len(must(os.ReadDir("/proc/self/fd"))), libraryThreads()
	return u
}

// finalize lets finalizers run until nothing is left to them: what a forgotten object holds is forgotten in the next
// collection only. Finalizers run one after the other, so those of a collection have run when a later one has.
func finalize() {
	for depth := 0; depth < 10; depth++ {
		ran := make(chan bool)
		runtime.SetFinalizer(&[]*int{nil}, func(*[]*int) { close(ran) })
		runtime.GC()
		select {
		case <-ran:
		case <-time.After(time.Minute):
		}
	}
}

// cycle makes a strategy, runs steps, and closes it, or forgets it.
func cycle(close bool) error {
	strategy := newStrategy(2)
	if close {
		defer strategy.Close()
	}
	_, err := strategy.Run(func(replica *mdist.Replica) error { return mdist.AllReduce(replica, mdist.Sum, []int8{1}) })
	if err != nil {
		return err
	}
	_, err = strategy.RunGoroutines(func(*mdist.Replica) error { return errNoGood })
	if !errors.Is(err, errNoGood) {
		return fmt.Errorf("a failing step gave %v", err)
	}
	return nil
}

// richCycle makes one of everything, large enough to be missed, uses it, and closes it, or forgets it.
func richCycle(close bool) error {
	strategy := newStrategy(2)
	variable := must(strategy.NewVariable("weights", mdist.Describe[float32](10000), mdist.VariableOptions{}))
	value := must(mdist.NewValue(mdist.TensorOf(make([]float32, 10000))))
	memory := must(mdist.Alloc[float32](strategy, 1, 10000))
	source := rows(4000)
	batches := must(source.Batch(4000, false))
	dataset := mapped(batches, true, func(_, _ []mdist.Tensor) error { return nil })
	iterator := must(dataset.Iterate())
	element := must(iterator.Next())
	structure := must(mdist.NewStructure(map[string]*mdist.Value{"x.0": value, "x.1": value}))
	checkpoint := must(strategy.NewCheckpoint("unused", 1))
	if err := checkpoint.Add("", variable); err != nil {
		return err
	}
	_, err := strategy.Run(func(replica *mdist.Replica) error {
		argument, err := replica.ArgumentAt(0, "x.1")
		if err != nil {
			return err
		}
		return replica.Assign(variable, mdist.Add, argument)
	}, structure)
	runtime.KeepAlive(memory)
	if close {
		for _, object := range []interface{ Close() }{element[0], element[1], iterator, dataset, batches, source, value,
			structure, checkpoint, variable, strategy} {
			object.Close()
		}
		memory.Free()
	}
	return err
}

func TestTenThousandCyclesLeaveNothing(t *testing.T) {
	cycles := 5000 // each way
	if testing.Short() {
		cycles = 250 // enough for threads and files
	}
	tenth := cycles / 10
	for _, way := range []string{"closed", "forgotten"} {
		t.Run(way, func(t *testing.T) {
			var early usage
			for i := 1; i <= cycles; i++ {
				succeeds(t, cycle(way == "closed"))
				if i%5 == 0 {
					succeeds(t, richCycle(way == "closed"))
				}
				if way == "forgotten" && (i%50 == 0 || i%tenth == 0) {
					collect(i % tenth)
				}
				if i == tenth {
					early = measure()
				}
			}
			late := measure()
			t.Logf("after %d cycles %+v, after %d %+v", tenth, early, cycles, late)
			// Whatever a rich cycle leaves behind, one kind of object alone is 32 KB, or 28 MB in 900 cycles; noise is 7 MB.
			if grown := late.pages - early.pages; grown > 14<<20/os.Getpagesize() {
				t.Errorf("%d pages more", grown)
			}
			if late.files > early.files || late.threads > early.threads {
				t.Errorf("files or threads are left: %+v, then %+v", early, late)
			}
		})
	}
}

// What has been sliced is forgotten at once, and collected. Memory that has gone would be used again, for ones.
func TestSlicesStayWhatTheyWere(t *testing.T) {
	const elements, slices = 10000, 20
	numbers := make([]float32, elements)
	for i := range numbers {
		numbers[i] = float32(i)
	}
	for what, sliced := range map[string]func() []float32{
		"a value": func() []float32 {
			return mdist.Copy[float32](must(must(mdist.NewValue(mdist.TensorOf(numbers))).Tensor(0)))
		},
		"a value itself": func() []float32 {
			return mdist.UnsafeSlice[float32](must(must(mdist.NewValue(mdist.TensorOf(numbers))).Tensor(0)))
		},
		"a copy of a variable": func() []float32 {
			strategy := newStrategy(1)
			variable := must(strategy.NewVariable("v", mdist.TensorOf(numbers), mdist.VariableOptions{}))
			slice := mdist.Copy[float32](must(variable.Tensor(0)))
			variable.Close()
			strategy.Close()
			return slice
		},
		"a variable": func() []float32 {
			variable := must(newStrategy(2).NewVariable("v", mdist.TensorOf(numbers), mdist.VariableOptions{}))
			return mdist.UnsafeSlice[float32](must(variable.Tensor(1)))
		},
		"memory": func() []float32 {
			memory := must(mdist.Alloc[float32](nil, 0, elements))
			copy(memory.UnsafeSlice(), numbers)
			return memory.UnsafeSlice()
		},
		"memory as a tensor": func() []float32 {
			slice := mdist.UnsafeSlice[float32](must(mdist.Alloc[float32](nil, 0, elements)).Tensor())
			copy(slice, numbers)
			return slice
		},
		"gradients": func() []float32 {
			gradients := must(newStrategy(2).NewGradients(mdist.GradientsOptions{}, mdist.Describe[float32](elements)))
			slice := mdist.UnsafeSlice[float32](must(gradients.Tensor(1, 0)))
			copy(slice, numbers)
			return slice
		},
		"lent gradients": func() []float32 {
			lent := must(mdist.Alloc[float32](nil, 0, elements)).Tensor()
			gradients := must(newStrategy(1).LendGradients(mdist.GradientsOptions{}, []mdist.Tensor{lent}))
			slice := mdist.UnsafeSlice[float32](must(gradients.Tensor(0, 0)))
			copy(slice, numbers)
			return slice
		},
	} {
		t.Run(what, func(t *testing.T) {
			var all [slices][]float32
			for i := range all {
				all[i] = sliced()
			}
			finalize()
			for i := 0; i < 2*slices; i++ {
				memory := must(mdist.Alloc[float32](nil, 0, elements))
				defer memory.Free()
				for j := range memory.UnsafeSlice() {
					memory.UnsafeSlice()[j] = 1
				}
			}
			for i, slice := range all {
				if err := differ(fmt.Sprint("slice ", i), slice, numbers); err != nil {
					t.Fatal(err.Error()[:80])
				}
			}
		})
	}
}

// collect lets finalizers run; at the end of a tenth of the cycles until no strategy has threads any more. So each tenth
// needs as much memory at a time as the first, of which the C library keeps what lies between blocks in use.
func collect(within int) {
	runtime.GC()
	for within == 0 && libraryThreads() > 0 {
		runtime.GC()
	}
}

// libraryThreads counts the library's by their names, and by the signals that they block: a thread that Go starts on one
// of them, for a callback, inherits the name and stays for ever, but Go interrupts it by SIGURG.
func libraryThreads() (count int) {
	for _, task := range must(os.ReadDir("/proc/self/task")) {
		status, err := os.ReadFile("/proc/self/task/" + task.Name() + "/status")
		if err != nil || !strings.HasPrefix(string(status), "Name:\tmdist ") { // one that ends meanwhile has no name any more
			continue
		}
		var blocked uint64
		_, mask, _ := strings.Cut(string(status), "SigBlk:")
		if _, err := fmt.Sscanf(mask, "%x", &blocked); err == nil && blocked>>(syscall.SIGURG-1)&1 == 1 {
			count++
		}
	}
	return count
}

// Memory of Go's is given to C while the collector runs without pause.
func TestTheCollectorRunsWhileReplicasDo(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(1))
	eachWay(t, 3, func(t *testing.T, strategy *mdist.Strategy, run run) {
		stop := make(chan struct{})
		var collector sync.WaitGroup
		collector.Add(1)
		go func() {
			defer collector.Done()
			for {
				select {
				case <-stop:
					return
				default:
					runtime.GC()
				}
			}
		}()
		for i := 0; i < 200; i++ {
			variable := must(strategy.NewVariable(fmt.Sprint("v", i), mdist.Describe[float32](3), mdist.VariableOptions{}))
			argument := must(mdist.NewValue(mdist.TensorOf([]float32{1, 2, 3})))
			_, err := run(func(replica *mdist.Replica) error { return shuffleMemory(replica, variable) }, argument)
			succeeds(t, err)
			if i%2 == 0 {
				variable.Close()
			}
		}
		close(stop)
		collector.Wait()
	})
}

func shuffleMemory(replica *mdist.Replica, variable *mdist.Variable) error {
	argument, err := replica.Argument(0)
	if err != nil {
		return err
	}
	x := append(make([]float32, 0, 3+replica.ID()), mdist.Copy[float32](argument)...)
	_ = make([]byte, 1<<14) // so that there is something to collect
	if err := mdist.AllReduce(replica, mdist.Sum, x); err != nil {
		return err
	}
	results, err := replica.Merge(1, func(strategy *mdist.Strategy, values []*mdist.Value) ([]*mdist.Value, error) {
		value, err := strategy.Reduce(mdist.Mean, values[0])
		return []*mdist.Value{value}, err
	}, mdist.TensorOf(x))
	if err != nil {
		return err
	}
	if err := replica.Assign(variable, mdist.Set, results[0]); err != nil {
		return err
	}
	own, err := variable.Tensor(replica.LocalIndex())
	if err != nil {
		return err
	}
	return differ("sum", mdist.Copy[float32](own), []float32{3, 6, 9})
}
