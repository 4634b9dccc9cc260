// SPDX-License-Identifier: Apache-2.0

package mdist

import "sync"

// registry keeps functions under numbers, as cgo.Handle does. But a number whose function has gone is an error, not a
// panic: the library may call back late, on behalf of somebody who still uses an operator or a strategy.
type registry struct {
	lock   sync.Mutex
	last   uintptr
	things map[uintptr]any
}

// lasting has what outlives the call that registered it.
var lasting registry

func (r *registry) add(thing any) uintptr {
	r.lock.Lock()
	defer r.lock.Unlock()
	if r.things == nil {
		r.things = map[uintptr]any{}
	}
	r.last++
	r.things[r.last] = thing
	return r.last
}

func (r *registry) find(number uintptr) any {
	r.lock.Lock()
	defer r.lock.Unlock()
	return r.things[number]
}

func (r *registry) remove(numbers ...uintptr) {
	r.lock.Lock()
	defer r.lock.Unlock()
	for _, number := range numbers {
		delete(r.things, number)
	}
}
