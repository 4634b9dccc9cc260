// SPDX-License-Identifier: Apache-2.0

package mdist_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"example.org/libmdist/src/go/mdist"
)

func TestAStartedCollectiveIsTestedUntilItIsDone(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // waiting by Test and Gosched needs no thread
	eachWay(t, 3, func(t *testing.T, strategy *mdist.Strategy, run run) {
		_, err := run(func(replica *mdist.Replica) error {
			memory, err := mdist.Alloc[float32](strategy, replica.LocalIndex(), 1000)
			if err != nil {
				return err
			}
			defer memory.Free()
			for i := range memory.UnsafeSlice() {
				memory.UnsafeSlice()[i] = float32(i)
			}
			work, err := replica.StartAllReduce(mdist.Sum, memory.Buffer())
			if err != nil {
				return err
			}
			defer work.Close()
			for done := false; !done; runtime.Gosched() {
				if done, err = work.Test(); err != nil {
					return err
				}
			}
			return differ("sum", memory.UnsafeSlice()[999], float32(2997))
		})
		succeeds(t, err)
	})
}

func TestEveryCollectiveCanBeStarted(t *testing.T) {
	eachWay(t, 2, func(t *testing.T, strategy *mdist.Strategy, run run) {
		_, err := run(func(replica *mdist.Replica) error { return startAll(strategy, replica) })
		succeeds(t, err)
	})
}

func startAll(strategy *mdist.Strategy, replica *mdist.Replica) error {
	id := int32(replica.ID())
	in, err := mdist.Alloc[int32](strategy, replica.LocalIndex(), 4)
	if err != nil {
		return err
	}
	out, err := mdist.Alloc[int32](strategy, replica.LocalIndex(), 4)
	if err != nil {
		return err
	}
	input, output := in.UnsafeSlice(), out.UnsafeSlice()
	ins, outs := []mdist.Buffer{in.Buffer()}, []mdist.Buffer{out.Buffer()}
	finish := func(work *mdist.Work, err error) error {
		if err != nil {
			return err
		}
		defer work.Close()
		return work.Wait()
	}
	copy(input, []int32{id, 1, 2, 3})
	if err := finish(replica.StartBarrier()); err != nil {
		return err
	}
	if err := finish(replica.StartBroadcast(1, ins...)); err != nil {
		return err
	}
	if err := differ("broadcast", input, []int32{1, 1, 2, 3}); err != nil {
		return err
	}
	if err := finish(replica.StartAllToAll(ins, outs)); err != nil {
		return err
	}
	if err := differ("exchanged", output, [][]int32{{1, 1, 1, 1}, {2, 3, 2, 3}}[id]); err != nil {
		return err
	}
	half, err := mdist.Alloc[int32](nil, 0, 2)
	if err != nil {
		return err
	}
	if err := finish(replica.StartReduceScatter(mdist.Sum, ins, []mdist.Buffer{half.Buffer()})); err != nil {
		return err
	}
	if err := finish(replica.StartAllGather([]mdist.Buffer{half.Buffer()}, outs)); err != nil {
		return err
	}
	err = differ("scattered and gathered", output, []int32{2, 2, 4, 6})
	runtime.KeepAlive(in)
	runtime.KeepAlive(out)
	return err
}

func TestAStartedCollectiveTakesNoSlicesOfGo(t *testing.T) {
	strategy := newStrategy(1)
	_, err := strategy.Run(func(replica *mdist.Replica) error {
		_, err := replica.StartAllReduce(mdist.Sum, mdist.Of([]float32{1}))
		return err
	})
	if !errors.Is(err, mdist.ErrInvalidArgument) || !strings.Contains(err.Error(), "mdist.Alloc") {
		t.Errorf("found %v", err)
	}
}

func TestWorkThatOthersDoNotTakePartInTimesOutOrIsGivenUp(t *testing.T) {
	eachWay(t, 2, func(t *testing.T, strategy *mdist.Strategy, run run) {
		_, err := run(func(replica *mdist.Replica) error {
			if replica.ID() == 1 {
				return nil
			}
			work, err := replica.StartBarrier()
			if err != nil {
				return err
			}
			if done, err := work.WaitFor(0); done {
				return differ("done alone", done, false)
			} else if err != nil {
				return err
			}
			work.Close()
			return replica.Barrier()
		})
		if err == nil {
			t.Error("a barrier of one of two replicas succeeded")
		}
		works(t, strategy, run)
	})
}
