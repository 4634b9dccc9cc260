// SPDX-License-Identifier: Apache-2.0
//! A variable's copies as tensors, wherever they lie: guards, as [`CopyRef`](crate::CopyRef) is for
//! slices.
use crate::copies::{Lock, Locked};
use crate::error::Result;
use crate::replica::Replica;
use crate::tensor::{Tensor, TensorMut};
use crate::Variable;

/// One copy of a variable, to read.
pub struct TensorRef<'v> {
    raw: mdist_sys::mdist_tensor,
    _locked: Locked<'v>,
}

/// One copy of a variable, to read and write. Keeping mirrored copies equal is up to you.
pub struct TensorRefMut<'v> {
    raw: mdist_sys::mdist_tensor,
    _locked: Locked<'v>,
}

impl TensorRef<'_> {
    pub fn tensor(&self) -> Tensor<'_> {
        // Safety: nobody writes while we have the lock.
        unsafe { Tensor::from_raw(self.raw) }
    }
}

impl TensorRefMut<'_> {
    pub fn tensor(&self) -> Tensor<'_> {
        // Safety: nobody else has it while we have the lock.
        unsafe { Tensor::from_raw(self.raw) }
    }

    pub fn tensor_mut(&mut self) -> TensorMut<'_> {
        // Safety: nobody else has it while we have the lock.
        unsafe { TensorMut::from_raw(self.raw) }
    }
}

impl Variable {
    /// The copy of a local replica, to read, on the host or a GPU.
    pub fn tensor(&self, local_replica: u32) -> Result<TensorRef<'_>> {
        let _locked = self.lock("read", local_replica, Lock::try_read)?;
        let raw = self.describe(local_replica)?;
        Ok(TensorRef { raw, _locked })
    }

    /// The copy of a local replica, to read and write, on the host or a GPU.
    pub fn tensor_mut(&self, local_replica: u32) -> Result<TensorRefMut<'_>> {
        let _locked = self.lock("written", local_replica, Lock::try_write)?;
        let raw = self.describe(local_replica)?;
        Ok(TensorRefMut { raw, _locked })
    }
}

impl Replica<'_> {
    /// This replica's copy, to read, on the host or a GPU.
    pub fn tensor<'v>(&self, variable: &'v Variable) -> Result<TensorRef<'v>> {
        variable.tensor(self.local_index())
    }

    /// This replica's copy, to read and write, on the host or a GPU.
    pub fn tensor_mut<'v>(&self, variable: &'v Variable) -> Result<TensorRefMut<'v>> {
        variable.tensor_mut(self.local_index())
    }
}
