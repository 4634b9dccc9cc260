// SPDX-License-Identifier: Apache-2.0

package mdist

// #include "shim.h"
import "C"

import "runtime"

// Group is some replicas of the job, in an order of their own, with collectives of their own: replica.InGroup(group).
// Keep groups: do not make one in each step.
type Group struct {
	handle *C.mdist_group_t
}

// NewGroup makes a group of replicas; member i of the list has position i. All workers call it with the same list, even
// workers without members.
func (s *Strategy) NewGroup(replicas ...int) (*Group, error) {
	list := make([]C.uint32_t, len(replicas))
	for i, replica := range replicas {
		var err error
		if list[i], err = index("the replica", replica); err != nil {
			return nil, err
		}
	}
	group := &Group{}
	var story *C.mdist_error_t
	err := check(C.mdist_group_create(s.handle, first(list), C.size_t(len(list)), &group.handle, &story), &story)
	runtime.KeepAlive(s)
	if err != nil {
		return nil, err
	}
	runtime.SetFinalizer(group, (*Group).Close)
	return group, nil
}

// Size returns the number of members; 0 if the group is closed.
func (g *Group) Size() int {
	defer runtime.KeepAlive(g)
	return int(C.mdist_group_size(g.handle))
}

// Position returns the position of a replica of the job; -1 if it is not a member.
func (g *Group) Position(replica int) int {
	defer runtime.KeepAlive(g)
	number, err := index("the replica", replica)
	if err != nil {
		return -1
	}
	return orNone(C.mdist_group_position(g.handle, number))
}

// Close frees the group. Operations under way run to their end.
func (g *Group) Close() {
	runtime.SetFinalizer(g, nil)
	C.mdist_group_destroy(g.handle)
}
