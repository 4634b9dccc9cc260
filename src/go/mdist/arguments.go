// SPDX-License-Identifier: Apache-2.0

package mdist

// #include "shim.h"
// #include <stdlib.h>
import "C"

import (
	"fmt"
	"math"
	"strings"
	"unsafe"
)

// C would take an int that does not fit as another number, and a text up to its first NUL. So what the library has no
// chance to see is refused here.

func invalid(format string, arguments ...any) *Error {
	return &Error{Status: ErrInvalidArgument, Replica: -1, message: fmt.Sprintf(format, arguments...)}
}

// count is for a number of things.
func count(what string, number int) (C.uint64_t, error) {
	if number < 0 {
		return 0, invalid("%s is %d; it must not be negative", what, number)
	}
	return C.uint64_t(number), nil
}

// index is for the number of a replica.
func index(what string, number int) (C.uint32_t, error) {
	if number < 0 || int64(number) > math.MaxUint32 {
		return 0, invalid("%s is %d; replicas are numbered from 0", what, number)
	}
	return C.uint32_t(number), nil
}

// axis is for a dimension, which may be counted from the end.
func axis(number int) (C.int32_t, error) {
	if int64(number) != int64(int32(number)) {
		return 0, invalid("axis is %d; tensors have at most %d dimensions", number, C.MDIST_MAX_RANK)
	}
	return C.int32_t(number), nil
}

// cText is for a text that ends with NUL in C; to be freed.
func cText(what, text string) (*C.char, error) {
	if strings.IndexByte(text, 0) >= 0 {
		return nil, invalid("%s is %q; it must not hold a NUL, where it would end for C", what, text)
	}
	return C.CString(text), nil
}

func freeText(text *C.char) { C.free(unsafe.Pointer(text)) }
