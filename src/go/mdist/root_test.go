// SPDX-License-Identifier: Apache-2.0

package mdist_test

import (
	"errors"
	"os"
	"runtime"
	"syscall"
	"testing"

	"example.org/libmdist/src/go/mdist"
)

func TestOnlyTheRootGetsAndOnlyTheRootGives(t *testing.T) {
	eachWay(t, 3, func(t *testing.T, strategy *mdist.Strategy, run run) {
		_, err := run(func(replica *mdist.Replica) error {
			id := replica.ID()
			x, all, part := []int32{int32(id + 1)}, []float32(nil), make([]float32, 1)
			if id == 1 {
				all = make([]float32, 3)
			}
			if err := mdist.ReduceToRoot(replica, mdist.Sum, 2, x); err != nil {
				return err
			}
			if err := differ("sum", x[0], []int32{1, 2, 6}[id]); err != nil {
				return err
			}
			if err := mdist.GatherToRoot(replica, 1, []float32{float32(10 * id)}, all); err != nil {
				return err
			}
			if id == 1 {
				if err := differ("gathered", all, []float32{0, 10, 20}); err != nil {
					return err
				}
			}
			if err := mdist.Scatter(replica, 1, all, part); err != nil {
				return err
			}
			return differ("scattered", part, []float32{float32(10 * id)})
		})
		succeeds(t, err)
	})
}

// startRooted starts all three in memory of the library, and checks what comes.
func startRooted(replica *mdist.Replica) error {
	id := int64(replica.ID())
	own, part := must(mdist.Alloc[int64](nil, 0, 1)), must(mdist.Alloc[int64](nil, 0, 1))
	all := must(mdist.Alloc[int64](nil, 0, replica.Count()))
	defer runtime.KeepAlive([]any{own, part, all})
	own.UnsafeSlice()[0] = id
	list := func(memory *mdist.Memory[int64]) []mdist.Buffer { return []mdist.Buffer{memory.Buffer()} }
	works := []*mdist.Work{
		must(replica.StartGatherToRoot(0, list(own), list(all))),
		must(replica.StartScatter(0, list(all), list(part))),
		must(replica.StartReduceToRoot(mdist.Max, 0, own.Buffer())),
	}
	for _, work := range works {
		defer work.Close()
		if err := work.Wait(); err != nil {
			return err
		}
	}
	found := append(append(own.UnsafeSlice()[:1:1], all.UnsafeSlice()...), part.UnsafeSlice()...)
	if id == 0 {
		return differ("root", found, []int64{2, 0, 1, 2, 0})
	}
	return differ("other", found, []int64{id, 0, 0, 0, id})
}

func TestRootedCollectivesCanBeStarted(t *testing.T) {
	eachWay(t, 3, func(t *testing.T, strategy *mdist.Strategy, run run) {
		_, err := run(startRooted)
		succeeds(t, err)
	})
}

func TestARootWithoutBuffersIsRefused(t *testing.T) {
	eachWay(t, 2, func(t *testing.T, strategy *mdist.Strategy, run run) {
		for _, step := range []mdist.Step{
			func(replica *mdist.Replica) error {
				return replica.GatherToRoot(0, []mdist.Buffer{mdist.Of([]int8{1})}, nil)
			},
			func(replica *mdist.Replica) error {
				return replica.Scatter(0, nil, []mdist.Buffer{mdist.Of([]int8{1})})
			},
			func(replica *mdist.Replica) error { return mdist.ReduceToRoot(replica, mdist.Sum, -1, []int8{1}) },
		} {
			if _, err := run(step); !errors.Is(err, mdist.ErrInvalidArgument) {
				t.Errorf("found %v", err)
			}
			works(t, strategy, run)
		}
	})
}

// readable waits for a descriptor by way of an epoll.
func readable(descriptor int) error {
	poll, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return err
	}
	defer syscall.Close(poll)
	event := syscall.EpollEvent{Events: syscall.EPOLLIN}
	if err := syscall.EpollCtl(poll, syscall.EPOLL_CTL_ADD, descriptor, &event); err != nil {
		return err
	}
	for {
		count, err := syscall.EpollWait(poll, make([]syscall.EpollEvent, 1), 60000)
		if err == syscall.EINTR {
			continue
		}
		if err == nil && count == 0 {
			err = errors.New("not readable after a minute")
		}
		return err
	}
}

func TestADescriptorTellsWhenToTest(t *testing.T) {
	eachWay(t, 3, func(t *testing.T, strategy *mdist.Strategy, run run) {
		_, err := run(func(replica *mdist.Replica) error {
			memory, err := mdist.Alloc[uint8](strategy, replica.LocalIndex(), 1)
			if err != nil {
				return err
			}
			defer memory.Free()
			memory.UnsafeSlice()[0] = 1
			work, err := replica.StartAllReduce(mdist.Sum, memory.Buffer())
			if err != nil {
				return err
			}
			defer work.Close()
			descriptor, err := work.Descriptor()
			if err != nil {
				return err
			}
			defer os.NewFile(uintptr(descriptor), "work").Close()
			for done := false; !done; {
				if err := readable(descriptor); err != nil {
					return err
				}
				if done, err = work.Test(); err != nil {
					return err
				}
			}
			return differ("sum", memory.UnsafeSlice()[0], uint8(3))
		})
		succeeds(t, err)
	})
}
