// SPDX-License-Identifier: Apache-2.0

package mdist_test

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.org/libmdist/src/go/mdist"
)

// compose combines functions a * x + b: associative, not commutative.
func compose(left, right, out []int64) error {
	for i := 0; i < len(out); i += 2 {
		out[i], out[i+1] = left[i]*right[i], left[i+1]*right[i]+right[i+1]
	}
	return nil
}

func ofReplica(id int) []int64 { return []int64{int64(id) + 2, 3*int64(id) + 1} }

func allComposed(replicas int) []int64 {
	all := ofReplica(0)
	for id := 1; id < replicas; id++ {
		own := ofReplica(id)
		all = []int64{all[0] * own[0], all[1]*own[0] + own[1]}
	}
	return all
}

func TestMembersOfAGroupGatherInTheOrderOfItsList(t *testing.T) {
	eachWay(t, 4, func(t *testing.T, strategy *mdist.Strategy, run run) {
		groups := []*mdist.Group{must(strategy.NewGroup(2, 0)), must(strategy.NewGroup(1, 3))}
		if groups[0].Size() != 2 || groups[0].Position(0) != 1 || groups[0].Position(1) != -1 {
			t.Error("it does not know its members")
		}
		_, err := run(func(replica *mdist.Replica) error {
			member := replica.InGroup(groups[replica.ID()%2])
			both := make([]int32, 2)
			if err := mdist.AllGather(member, []int32{int32(replica.ID())}, both); err != nil {
				return err
			}
			if err := differ("gathered", both, [][]int32{{2, 0}, {1, 3}}[replica.ID()%2]); err != nil {
				return err
			}
			work, err := member.StartBarrier()
			if err != nil {
				return err
			}
			defer work.Close()
			if err := work.Wait(); err != nil {
				return err
			}
			return replica.WithTimeout(time.Minute).Barrier()
		})
		succeeds(t, err)
	})
}

func TestWhoIsNoMemberIsRefusedInWords(t *testing.T) {
	strategy := newStrategy(3)
	if _, err := strategy.NewGroup(1, 1); !errors.Is(err, mdist.ErrInvalidArgument) {
		t.Errorf("found %v", err)
	}
	group := must(strategy.NewGroup(0, 1))
	_, err := strategy.Run(func(replica *mdist.Replica) error { return replica.InGroup(group).Barrier() })
	if err == nil || !strings.Contains(err.Error(), "group {0, 1}") {
		t.Errorf("found %v", err)
	}
	works(t, strategy, strategy.Run)
}

func TestAnOperatorIsAppliedInTheOrderOfReplicas(t *testing.T) {
	eachWay(t, 5, func(t *testing.T, strategy *mdist.Strategy, run run) {
		operator := must(mdist.NewOperator("affine", 2, compose))
		defer operator.Close()
		_, err := run(func(replica *mdist.Replica) error {
			own, root := ofReplica(replica.ID()), ofReplica(replica.ID())
			memory, err := mdist.Alloc[int64](strategy, replica.LocalIndex(), 2)
			if err != nil {
				return err
			}
			defer memory.Free()
			copy(memory.UnsafeSlice(), own)
			work, err := replica.StartAllReduce(operator.Op(), memory.Buffer())
			if err != nil {
				return err
			}
			defer work.Close()
			if err := mdist.AllReduce(replica, operator.Op(), own); err != nil {
				return err
			}
			if err := mdist.ReduceToRoot(replica, operator.Op(), 3, root); err != nil {
				return err
			}
			if err := work.Wait(); err != nil {
				return err
			}
			if replica.ID() == 3 {
				own = root
			}
			if err := differ("blocking", own, allComposed(5)); err != nil {
				return err
			}
			return differ("started", memory.UnsafeSlice(), allComposed(5))
		})
		succeeds(t, err)
		var buffers []mdist.Buffer
		var all []*mdist.Memory[int64]
		for id := 0; id < 5; id++ {
			memory := must(mdist.Alloc[int64](nil, 0, 2))
			copy(memory.UnsafeSlice(), ofReplica(id))
			all, buffers = append(all, memory), append(buffers, memory.Buffer())
		}
		succeeds(t, strategy.AllReduce(operator.Op(), buffers...))
		succeeds(t, differ("outside of steps", all[4].UnsafeSlice(), allComposed(5)))
	})
}

func TestWhatAnOperatorFailsWithComesBackInWords(t *testing.T) {
	strategy := newStrategy(2)
	step := func(op mdist.ReduceOp) mdist.Step {
		return func(replica *mdist.Replica) error { return mdist.AllReduce(replica, op, []float32{1}) }
	}
	for _, bad := range []func(left, right, out []float32) error{
		func(left, right, out []float32) error { return errors.New("no such pair") },
		func(left, right, out []float32) error { panic("no such pair") },
	} {
		operator := must(mdist.NewOperator("bad", 1, bad))
		_, err := strategy.Run(step(operator.Op()))
		if err == nil || !strings.Contains(err.Error(), "no such pair") {
			t.Errorf("found %v", err)
		}
		works(t, strategy, strategy.Run)
		operator.Close()
		if _, err := strategy.Run(step(operator.Op())); !errors.Is(err, mdist.ErrInvalidArgument) {
			t.Errorf("a closed operator: found %v", err)
		}
	}
	if _, err := mdist.NewOperator[float32]("", 1, func(left, right, out []float32) error { return nil }); err == nil {
		t.Error("an operator without a name was made")
	}
	if _, err := mdist.NewOperator[float32]("x", 1, nil); err == nil {
		t.Error("an operator without a function was made")
	}
}

func TestPartsOfAnyLengths(t *testing.T) {
	eachWay(t, 3, func(t *testing.T, strategy *mdist.Strategy, run run) {
		_, err := run(func(replica *mdist.Replica) error {
			id := replica.ID()
			var lengths []int
			var given, expected []int32
			for other := 0; other < 3; other++ {
				lengths = append(lengths, id+other)
				for i := 0; i < id+other; i++ {
					given, expected = append(given, int32(10*id+other)), append(expected, int32(10*other+id))
				}
			}
			taken := make([]int32, len(expected))
			if err := mdist.AllToAllParts(replica, given, lengths, taken, lengths); err != nil {
				return err
			}
			if err := differ("parts", taken, expected); err != nil {
				return err
			}
			in, out := must(mdist.Alloc[int32](nil, 0, len(given))), must(mdist.Alloc[int32](nil, 0, len(expected)))
			copy(in.UnsafeSlice(), given)
			work, err := replica.StartAllToAllParts([]mdist.Buffer{in.Buffer()}, lengths, []mdist.Buffer{out.Buffer()}, lengths)
			if err != nil {
				return err
			}
			defer work.Close()
			if err := work.Wait(); err != nil {
				return err
			}
			if err := differ("started", out.UnsafeSlice(), expected); err != nil {
				return err
			}
			if err := mdist.AllToAllParts(replica, given, []int{1}, taken, lengths); !errors.Is(err, mdist.ErrInvalidArgument) {
				return fmt.Errorf("too few lengths: %w", err)
			}
			return nil
		})
		succeeds(t, err)
	})
	strategy := newStrategy(2)
	_, err := strategy.Run(func(replica *mdist.Replica) error {
		more := replica.ID()
		return mdist.AllToAllParts(replica, make([]float32, 2), []int{1, 1}, make([]float32, 2+more), []int{1, 1 + more})
	})
	if !errors.Is(err, mdist.ErrMismatch) {
		t.Errorf("lengths that do not match: found %v", err)
	}
}

func TestPreparedCallsGiveWhatTheCollectivesGive(t *testing.T) {
	eachWay(t, 2, func(t *testing.T, strategy *mdist.Strategy, run run) {
		alloc := func(numbers ...int32) (*mdist.Memory[int32], []mdist.Buffer) {
			memory := must(mdist.Alloc[int32](nil, 0, len(numbers)))
			copy(memory.UnsafeSlice(), numbers)
			return memory, []mdist.Buffer{memory.Buffer()}
		}
		var calls [2][]*mdist.Prepared
		var found [2][]*mdist.Memory[int32]
		for local := 0; local < 2; local++ {
			own := strategy.Prepare(local)
			id := int32(local)
			sum, sums := alloc(id)
			gathered, gather := alloc(9, 9)
			scattered, scatter := alloc(9)
			turned, turn := alloc(9, 9)
			parts, part := alloc(make([]int32, 2+2*local)...)
			root, roots := alloc(id + 2)
			everybody, broadcast := alloc(id)
			rooted, toRoot := alloc(9, 9)
			_, in := alloc(id)
			_, pair := alloc(id, 5)
			_, three := alloc(id, id, id)
			calls[local] = []*mdist.Prepared{
				must(own.AllReduce(mdist.Sum, sums...)), must(own.AllGather(in, gather)),
				must(own.ReduceScatter(mdist.Max, pair, scatter)), must(own.AllToAll(pair, turn)),
				must(own.AllToAllParts(three, []int{1, 2}, part, []int{1 + local, 1 + local})),
				must(own.ReduceToRoot(mdist.Prod, 1, roots...)), must(own.Broadcast(1, broadcast...)),
				must(own.GatherToRoot(0, in, toRoot)), must(own.Scatter(0, toRoot, scatter)), must(own.Barrier()),
			}
			found[local] = []*mdist.Memory[int32]{sum, gathered, turned, parts, root, everybody, rooted, scattered}
		}
		_, err := run(func(replica *mdist.Replica) error {
			for _, call := range calls[replica.LocalIndex()] {
				if err := call.Run(replica); err != nil {
					return err
				}
			}
			return nil
		})
		succeeds(t, err)
		expected := [2][][]int32{
			{{1}, {0, 1}, {0, 1}, {0, 1}, {2}, {1}, {0, 1}, {0}},
			{{1}, {0, 1}, {5, 5}, {0, 0, 1, 1}, {6}, {1}, {9, 9}, {1}},
		}
		for local := range found {
			for i, memory := range found[local] {
				succeeds(t, differ(fmt.Sprint("memory ", i, " of replica ", local), memory.UnsafeSlice(), expected[local][i]))
			}
		}
		found[0][0].UnsafeSlice()[0], found[1][0].UnsafeSlice()[0] = 20, 30 // it reads its memory again
		_, err = run(func(replica *mdist.Replica) error {
			work, err := calls[replica.LocalIndex()][0].Start(replica)
			if err != nil {
				return err
			}
			defer work.Close()
			return work.Wait()
		})
		succeeds(t, err)
		succeeds(t, differ("started", found[1][0].UnsafeSlice(), []int32{50}))
	})
}

func TestMembersAloneMakeThePreparedCallsOfTheirGroup(t *testing.T) {
	eachWay(t, 3, func(t *testing.T, strategy *mdist.Strategy, run run) {
		operator := must(mdist.NewOperator("affine", 2, compose))
		defer operator.Close()
		pair := must(strategy.NewGroup(2, 0))
		var calls [3][]*mdist.Prepared
		var products [3]*mdist.Memory[int64]
		var gathered, taken [3]*mdist.Memory[int32]
		for _, local := range []int{0, 2} {
			own := strategy.Prepare(local).InGroup(pair)
			length := 2 - local/2 // of what comes from each
			products[local] = must(mdist.Alloc[int64](nil, 0, 2))
			copy(products[local].UnsafeSlice(), ofReplica(local))
			gathered[local], taken[local] = must(mdist.Alloc[int32](nil, 0, 2)), must(mdist.Alloc[int32](nil, 0, 2*length))
			one, three := must(mdist.Alloc[int32](nil, 0, 1)), must(mdist.Alloc[int32](nil, 0, 3))
			for _, slice := range [][]int32{one.UnsafeSlice(), three.UnsafeSlice()} {
				for i := range slice {
					slice[i] = int32(local)
				}
			}
			in, out := []mdist.Buffer{three.Buffer()}, []mdist.Buffer{taken[local].Buffer()}
			calls[local] = []*mdist.Prepared{
				must(own.AllReduce(operator.Op(), products[local].Buffer())),
				must(own.WithTimeout(time.Minute).AllGather([]mdist.Buffer{one.Buffer()},
					[]mdist.Buffer{gathered[local].Buffer()})),
				must(own.AllToAllParts(in, []int{1, 2}, out, []int{length, length})),
			}
			if _, err := own.AllToAllParts(in, []int{1, 1, 1}, out, []int{1, 1, 1}); err == nil ||
				!strings.Contains(err.Error(), "pass 2") {
				t.Errorf("lengths for three: found %v", err)
			}
		}
		if _, err := strategy.Prepare(1).InGroup(pair).Barrier(); err == nil ||
			!strings.Contains(err.Error(), "replica 1 is not a member of") {
			t.Errorf("found %v", err)
		}
		pair.Close() // the calls keep what they need of it
		_, err := run(func(replica *mdist.Replica) error {
			for _, call := range calls[replica.LocalIndex()] {
				if err := call.Run(replica); err != nil {
					return err
				}
			}
			return nil
		})
		succeeds(t, err)
		for _, local := range []int{0, 2} {
			succeeds(t, differ("operator", products[local].UnsafeSlice(), []int64{8, 15})) // (4, 7), then (2, 1)
			succeeds(t, differ("gathered", gathered[local].UnsafeSlice(), []int32{2, 0}))
		}
		succeeds(t, differ("parts of the first", taken[2].UnsafeSlice(), []int32{2, 0}))
		succeeds(t, differ("parts of the second", taken[0].UnsafeSlice(), []int32{2, 2, 0, 0}))
	})
}

func TestAPreparedCallTakesNoSlicesOfGoAndNoOtherReplica(t *testing.T) {
	strategy := newStrategy(2)
	_, err := strategy.Prepare(0).AllReduce(mdist.Sum, mdist.Of([]float32{1}))
	if !errors.Is(err, mdist.ErrInvalidArgument) || !strings.Contains(err.Error(), "mdist.Alloc") {
		t.Errorf("found %v", err)
	}
	call := must(strategy.Prepare(0).Barrier())
	_, err = strategy.Run(call.Run)
	if err == nil || !strings.Contains(err.Error(), "Create a call for each local replica") {
		t.Errorf("found %v", err)
	}
}

func TestAFunctionHearsOnceThatAnOperationIsOver(t *testing.T) {
	eachWay(t, 2, func(t *testing.T, strategy *mdist.Strategy, run run) {
		var done, late, failed int32
		_, err := run(func(replica *mdist.Replica) error {
			work, err := replica.StartBarrier()
			if err != nil {
				return err
			}
			defer work.Close()
			if err := work.OnDone(func(err error) {
				if err == nil {
					atomic.AddInt32(&done, 1)
				}
				panic("of no effect")
			}); err != nil {
				return err
			}
			if err := work.Wait(); err != nil {
				return err
			}
			return work.OnDone(func(error) { atomic.AddInt32(&late, 1) })
		})
		succeeds(t, err)
		if done != 2 || late != 2 {
			t.Errorf("%d calls, %d late ones", done, late)
		}
		begun := make(chan struct{})
		_, err = run(func(replica *mdist.Replica) error {
			if replica.ID() == 1 {
				<-begun
				return errors.New("no")
			}
			work, err := replica.StartBarrier()
			if err != nil {
				return err
			}
			defer work.Close()
			if err := work.OnDone(func(err error) {
				if errors.Is(err, mdist.ErrAborted) {
					atomic.AddInt32(&failed, 1)
				}
			}); err != nil {
				return err
			}
			close(begun)
			return work.Wait()
		})
		if err == nil || failed != 1 {
			t.Errorf("%d failures, found %v", failed, err)
		}
	})
}

func TestMoreTypesAndOperations(t *testing.T) {
	strategy := newStrategy(2)
	_, err := strategy.Run(func(replica *mdist.Replica) error {
		short, bits, either := []int16{-3}, []uint16{0b1100}, []mdist.Bool{0}
		if replica.ID() == 1 {
			short, bits, either = []int16{5}, []uint16{0b1010}, []mdist.Bool{7}
		}
		for _, err := range []error{mdist.AllReduce(replica, mdist.And, short), mdist.AllReduce(replica, mdist.Xor, bits),
			mdist.AllReduce(replica, mdist.Or, either)} {
			if err != nil {
				return err
			}
		}
		return differ("reduced", fmt.Sprint(short, bits, either), "[5] [6] [1]")
	})
	succeeds(t, err)
}

func TestMessagesGoBySenderAndTag(t *testing.T) {
	eachWay(t, 3, func(t *testing.T, strategy *mdist.Strategy, run run) {
		_, err := run(func(replica *mdist.Replica) error {
			right, left := (replica.ID()+1)%3, (replica.ID()+2)%3
			memory, err := mdist.Alloc[int32](nil, 0, 5000)
			if err != nil {
				return err
			}
			memory.UnsafeSlice()[4999] = int32(replica.ID())
			sending, err := replica.StartSend(right, 7, memory.Buffer())
			if err != nil {
				return err
			}
			defer sending.Close()
			taken := make([]int32, 5000)
			if err := mdist.Receive(replica, left, 7, taken); err != nil {
				return err
			}
			if err := sending.Wait(); err != nil {
				return err
			}
			if err := differ("a ring", taken[4999], int32(left)); err != nil {
				return err
			}
			for tag := uint64(1); tag <= 2; tag++ {
				if err := mdist.Send(replica, left, tag, []int32{int32(tag)}); err != nil {
					return err
				}
			}
			later, err := mdist.Alloc[int32](nil, 0, 1)
			if err != nil {
				return err
			}
			receiving, err := replica.StartReceive(right, 2, later.Buffer())
			if err != nil {
				return err
			}
			defer receiving.Close()
			first := make([]int32, 1)
			if err := mdist.Receive(replica, right, 1, first); err != nil {
				return err
			}
			if err := receiving.Wait(); err != nil {
				return err
			}
			return differ("by tag", []int32{first[0], later.UnsafeSlice()[0]}, []int32{1, 2})
		})
		succeeds(t, err)
		_, err = run(func(replica *mdist.Replica) error {
			switch replica.ID() {
			case 0:
				return mdist.Send(replica, 1, 5, []float32{1, 2})
			case 1:
				return mdist.Receive(replica, 0, 5, make([]float32, 3))
			}
			return nil
		})
		if !errors.Is(err, mdist.ErrMismatch) {
			t.Errorf("sides that differ: found %v", err)
		}
		works(t, strategy, run)
		_, err = run(func(replica *mdist.Replica) error {
			if replica.ID() == 1 {
				return mdist.Receive(replica.WithTimeout(10*time.Millisecond), 0, 5, make([]float32, 1))
			}
			return nil
		})
		if err == nil || !strings.Contains(err.Error(), "tag 5") {
			t.Errorf("a sender that never comes: found %v", err)
		}
		if err := mdist.Send(&mdist.Replica{}, -1, 5, []float32{1}); !errors.Is(err, mdist.ErrInvalidArgument) {
			t.Errorf("a replica below 0: found %v", err)
		}
	})
}
