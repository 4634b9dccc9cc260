// SPDX-License-Identifier: Apache-2.0

package main

/*
#cgo pkg-config: openblas
#cgo LDFLAGS: -lm
#include <cblas.h>
#include <math.h>

static void exponentials(float *x, long count) {
    for (long i = 0; i < count; ++i) x[i] = expf(x[i]);
}
*/
import "C"

import "unsafe"

// useOneThreadPerProduct keeps the bits equal to those of C: more threads would sum in another order. The replicas use
// the other cores.
func useOneThreadPerProduct() { C.openblas_set_num_threads(1) }

func address(x []float32) *C.float { return (*C.float)(unsafe.Pointer(&x[0])) }

// exponentials replaces every x by e^x. These functions call libm, for the same bits as in C.
func exponentials(x []float32)     { C.exponentials(address(x), C.long(len(x))) }
func logarithm(x float32) float32  { return float32(C.logf(C.float(x))) }
func squareRoot(x float32) float32 { return float32(C.sqrtf(C.float(x))) }

// multiply: c[m][n] = a[m][k] * b[k][n] + beta * c
func multiply(m, n, k int, a, b []float32, beta float32, c []float32) {
	C.cblas_sgemm(C.CblasRowMajor, C.CblasNoTrans, C.CblasNoTrans, C.blasint(m), C.blasint(n), C.blasint(k), 1,
		address(a), C.blasint(k), address(b), C.blasint(n), C.float(beta), address(c), C.blasint(n))
}

// multiplyTransposedA: c[m][n] = a[k][m]^T * b[k][n]
func multiplyTransposedA(m, n, k int, a, b, c []float32) {
	C.cblas_sgemm(C.CblasRowMajor, C.CblasTrans, C.CblasNoTrans, C.blasint(m), C.blasint(n), C.blasint(k), 1,
		address(a), C.blasint(m), address(b), C.blasint(n), 0, address(c), C.blasint(n))
}

// multiplyTransposedB: c[m][n] = a[m][k] * b[n][k]^T
func multiplyTransposedB(m, n, k int, a, b, c []float32) {
	C.cblas_sgemm(C.CblasRowMajor, C.CblasNoTrans, C.CblasTrans, C.blasint(m), C.blasint(n), C.blasint(k), 1,
		address(a), C.blasint(k), address(b), C.blasint(k), 0, address(c), C.blasint(n))
}
