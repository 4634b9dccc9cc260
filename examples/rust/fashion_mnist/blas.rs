// SPDX-License-Identifier: Apache-2.0
//! The functions of OpenBLAS and libm that the model calls, the same as in the C program.
use std::os::raw::{c_float, c_int};

const ROW_MAJOR: c_int = 101;
const NO_TRANS: c_int = 111;
const TRANS: c_int = 112;

#[link(name = "openblas")]
extern "C" {
    fn openblas_set_num_threads(count: c_int);
    fn cblas_sgemm(
        order: c_int,
        trans_a: c_int,
        trans_b: c_int,
        m: c_int,
        n: c_int,
        k: c_int,
        alpha: c_float,
        a: *const c_float,
        lda: c_int,
        b: *const c_float,
        ldb: c_int,
        beta: c_float,
        c: *mut c_float,
        ldc: c_int,
    );
}

#[link(name = "m")]
extern "C" {
    fn expf(x: c_float) -> c_float;
    fn logf(x: c_float) -> c_float;
}

pub fn set_threads(count: i32) {
    // Safety: any number is valid.
    unsafe { openblas_set_num_threads(count) }
}

pub fn exp(x: f32) -> f32 {
    // Safety: a function of a number.
    unsafe { expf(x) }
}

pub fn log(x: f32) -> f32 {
    // Safety: a function of a number.
    unsafe { logf(x) }
}

/// A row-major matrix, plain or transposed.
#[derive(Clone, Copy)]
pub struct Matrix<'a> {
    elements: &'a [f32],
    columns: usize,
    turned: bool,
}

impl<'a> Matrix<'a> {
    pub fn new(elements: &'a [f32], columns: usize) -> Matrix<'a> {
        Matrix {
            elements,
            columns,
            turned: false,
        }
    }
    pub fn turned(self) -> Matrix<'a> {
        Matrix {
            turned: !self.turned,
            ..self
        }
    }
    /// Rows and columns after transposing.
    fn size(&self) -> (usize, usize) {
        let rows = self.elements.len() / self.columns;
        if self.turned {
            (self.columns, rows)
        } else {
            (rows, self.columns)
        }
    }
    fn order(&self) -> c_int {
        if self.turned {
            TRANS
        } else {
            NO_TRANS
        }
    }
}

/// result = a * b + beta * result, row-major.
pub fn multiply(a: Matrix<'_>, b: Matrix<'_>, beta: f32, result: &mut [f32]) {
    let ((m, k), (inner, n)) = (a.size(), b.size());
    assert!(
        k == inner && result.len() == m * n,
        "{m} x {k} by {inner} x {n} into {}",
        result.len()
    );
    // Safety: the sizes fit, as just checked.
    unsafe {
        cblas_sgemm(
            ROW_MAJOR,
            a.order(),
            b.order(),
            m as c_int,
            n as c_int,
            k as c_int,
            1.0,
            a.elements.as_ptr(),
            a.columns as c_int,
            b.elements.as_ptr(),
            b.columns as c_int,
            beta,
            result.as_mut_ptr(),
            n as c_int,
        )
    }
}
