// SPDX-License-Identifier: Apache-2.0
//! Structures: values of several leaves, each at a path; and rows of larger tensors.
use std::ptr;

use mdist_sys as sys;

use crate::config::c_string;
use crate::error::{call, make, text, Result};
use crate::replica::Replica;
use crate::strategy::Op;
use crate::tensor::{no_tensor, Tensor};
use crate::Value;

impl Value {
    /// A value of several leaves, each at a path of names and positions joined by dots ("loss",
    /// "grads.0", "grads.1"), whose tensors it shares. A leaf that is a structure itself brings its
    /// leaves, below its path. Runs take structures and give them; reductions and gathers go
    /// through them leaf by leaf.
    pub fn structure<'a, P: AsRef<str>>(
        leaves: impl IntoIterator<Item = (P, &'a Value)>,
    ) -> Result<Value> {
        let (mut paths, mut values) = (Vec::new(), Vec::new());
        for (path, leaf) in leaves {
            paths.push(c_string(path.as_ref(), "mdist_value_structure")?);
            values.push(leaf.raw());
        }
        let paths: Vec<_> = paths.iter().map(|path| path.as_ptr()).collect();
        // Safety: as many handles, which are borrowed for the call, as texts that outlive it.
        make(|out, error| unsafe {
            sys::mdist_value_structure(paths.as_ptr(), values.as_ptr(), paths.len(), out, error)
        })
        .map(Value::own)
    }

    /// Paths of the leaves, positions in their order; only "" where there is no structure.
    pub fn paths(&self) -> Vec<String> {
        // Safety: our handle, and texts that are its as long as it lives.
        unsafe {
            (0..sys::mdist_value_leaf_count(self.raw()))
                .map(|index| text(sys::mdist_value_leaf_path(self.raw(), index)))
                .collect()
        }
    }

    /// The leaf at a path, or what lies below it as a structure of its own. It shares the tensors
    /// and may outlive this value. [`Status::NotFound`](crate::Status::NotFound) lists what there
    /// is.
    pub fn at(&self, path: &str) -> Result<Value> {
        let path = c_string(path, "mdist_value_at")?;
        // Safety: our handle, and text that outlives the call.
        make(|out, error| unsafe { sys::mdist_value_at(self.raw(), path.as_ptr(), out, error) })
            .map(Value::own)
    }

    /// All leaves with their paths, to collect into a map or a vector.
    pub fn leaves(&self) -> impl Iterator<Item = (String, Value)> + '_ {
        self.paths().into_iter().map(|path| {
            let leaf = self
                .at(&path)
                .expect("there is a leaf at each of the paths");
            (path, leaf)
        })
    }

    /// Rows of larger tensors: tensor i of `values` holds rows, and tensor i of `indices`, `i64`,
    /// says which rows of the larger one they are. For reductions, and for
    /// [`Variable::assign`](crate::Variable::assign), which leaves other rows alone.
    pub fn sparse(indices: &Value, values: &Value) -> Result<Value> {
        // Safety: handles of ours.
        make(|out, error| unsafe {
            sys::mdist_value_sparse(indices.raw(), values.raw(), out, error)
        })
        .map(Value::own)
    }

    /// Which rows tensor `index` has; `None` for a value of whole tensors.
    pub fn indices(&self, index: usize) -> Result<Option<&[i64]>> {
        let mut raw = no_tensor();
        // Safety: our handle; the memory is borrowed until the value is destroyed, and never
        // changes.
        call(|error| unsafe { sys::mdist_value_indices(self.raw(), index, &mut raw, error) })?;
        if raw.dtype == sys::MDIST_DTYPE_NONE {
            return Ok(None);
        }
        unsafe { Tensor::from_raw(raw) }.as_slice().map(Some)
    }
}

impl Replica<'_> {
    /// This replica's tensor at a path ("grads.0") of argument `index`, a structure.
    pub fn argument_at(&self, index: usize, path: &str) -> Result<Tensor<'_>> {
        let path = c_string(path, "mdist_replica_argument")?;
        let mut raw = no_tensor();
        // Safety: borrowed until the step returns, and self ends before; values never change.
        call(|error| unsafe {
            sys::mdist_replica_argument(self.raw(), index, path.as_ptr(), &mut raw, error)
        })?;
        Ok(unsafe { Tensor::from_raw(raw) })
    }

    /// Sets one leaf of a result that is a structure, to a copy: every replica sets the same paths.
    pub fn set_result_at<'a>(
        &self,
        index: usize,
        path: &str,
        tensor: impl Into<Tensor<'a>>,
    ) -> Result<()> {
        let (path, tensor) = (c_string(path, "mdist_replica_set_result")?, tensor.into());
        // Safety: a readable tensor, and text that outlives the call.
        call(|error| unsafe {
            let path = path.as_ptr();
            sys::mdist_replica_set_result(self.raw(), index, path, tensor.raw(), error)
        })
    }

    /// Joins the rows of all replicas, one after another: a value of rows, the same everywhere.
    /// [`Op::Mean`] divides them by the number of replicas. There may be different numbers of rows.
    pub fn all_reduce_sparse<'a>(
        &self,
        op: Op,
        indices: &[i64],
        values: impl Into<Tensor<'a>>,
    ) -> Result<Value> {
        let (indices, values) = (Tensor::from(indices), values.into());
        // Safety: readable tensors.
        make(|out, error| unsafe {
            sys::mdist_all_reduce_sparse(
                self.raw(),
                op.raw(),
                indices.raw(),
                values.raw(),
                out,
                ptr::null(),
                error,
            )
        })
        .map(Value::own)
    }
}
