// SPDX-License-Identifier: Apache-2.0

package mdist

// #include "shim.h"
import "C"

import "unsafe"

// Buffer is a run of elements that a collective reads or writes: a slice (Of), or memory of the library.
type Buffer struct {
	data     unsafe.Pointer
	elements int
	dtype    Dtype
	library  bool
	owner    any
}

// Of makes a buffer of a slice.
func Of[T Number](slice []T) Buffer {
	return Buffer{data: address(slice), elements: len(slice), dtype: DtypeOf[T]()}
}

func (b Buffer) c() C.mdist_buffer_t {
	return C.mdist_buffer_t{data: b.data, elements: C.uint64_t(b.elements), dtype: C.int32_t(b.dtype)}
}

func (b Buffer) bytes() []byte { return unsafe.Slice((*byte)(b.data), b.elements*b.dtype.Size()) }

func allLibrary(buffers []Buffer) bool {
	for _, b := range buffers {
		if !b.library {
			return false
		}
	}
	return true
}

// direct is how many buffers a call can take whose memory is Go's.
const direct = C.MDISTGO_DIRECT

// byValue packs up to `direct` buffers. cgo's rule is that C may be given Go pointers as arguments, but no memory that
// holds Go pointers; so an array of mdist_buffer_t travels as an argument itself, and C puts it on its stack.
func byValue(buffers []Buffer) (packed C.mdistgo_buffers) {
	for i, b := range buffers {
		packed.at[i] = b.c()
	}
	return packed
}

// byAddress lists buffers in memory of the library.
func byAddress(buffers []Buffer) []C.mdist_buffer_t {
	list := make([]C.mdist_buffer_t, len(buffers))
	for i, b := range buffers {
		list[i] = b.c()
	}
	return list
}

// staged copies every buffer that is Go's into memory of the library, for calls with more of them than `direct`.
func staged(buffers []Buffer) ([]Buffer, error) {
	copies := make([]Buffer, len(buffers))
	for i, b := range buffers {
		if copies[i] = b; b.library {
			continue
		}
		memory, err := Alloc[uint8](nil, 0, b.elements*b.dtype.Size())
		if err != nil {
			return nil, err
		}
		copy(memory.slice(), b.bytes())
		copies[i].data, copies[i].library, copies[i].owner = memory.data, true, memory
	}
	return copies, nil
}

// copyBack brings what a call wrote into the copies back to where it belongs.
func copyBack(buffers, copies []Buffer) {
	for i, b := range buffers {
		if !b.library {
			copy(b.bytes(), copies[i].bytes())
		}
	}
}

// freeStaged gives the copies' memory back.
func freeStaged(buffers, copies []Buffer) {
	for i, b := range buffers {
		if !b.library {
			copies[i].owner.(*Memory[uint8]).Free()
		}
	}
}
