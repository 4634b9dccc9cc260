// SPDX-License-Identifier: Apache-2.0
//! GPUs: which there are, what a step does on them, and the way from there to the host and back.
use std::os::raw::c_void;
use std::ptr;

use mdist_sys as sys;

use crate::element::Element;
use crate::error::{call, text, Result};
use crate::replica::Replica;
use crate::tensor::{Tensor, TensorMut};

/// The GPUs that this process can use.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Gpus {
    pub count: u32,
    /// What they are, a line each, and NCCL; or why there are none.
    pub text: String,
}

/// Which GPUs there are. Not before a fork whose child uses GPUs.
pub fn gpus() -> Result<Gpus> {
    let (mut count, mut needed) = (0, 0);
    // Safety: places for both numbers, and none for the text.
    call(|error| unsafe {
        sys::mdist_gpu_count(&mut count, ptr::null_mut(), 0, &mut needed, error)
    })?;
    let mut room = vec![0u8; needed];
    // Safety: room for as many bytes, which end with a zero.
    let text = unsafe {
        let to = room.as_mut_ptr().cast();
        call(|error| sys::mdist_gpu_count(&mut count, to, needed, ptr::null_mut(), error))?;
        text(to)
    };
    Ok(Gpus { count, text })
}

/// Copies between tensors of one type and shape, wherever they lie. Done on return. In a step:
/// [`Replica::copy_tensor`].
pub fn copy_tensor<'a, 'b>(
    to: impl Into<TensorMut<'a>>,
    from: impl Into<Tensor<'b>>,
) -> Result<()> {
    let (to, from) = (to.into(), from.into());
    // Safety: memory that is ours to write, and readable memory, for as long as the call.
    call(|error| unsafe { sys::mdist_tensor_copy(to.raw(), from.raw(), error) })
}

impl Tensor<'_> {
    /// A copy of the elements, wherever they lie. The type must be the tensor's. In a step take
    /// [`Replica::copy_tensor`]: this does not wait for what the replica's stream has been given.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        let mut elements = vec![T::default(); self.elements()];
        copy_tensor(TensorMut::new(&mut elements, self.shape())?, *self)?;
        Ok(elements)
    }
}

impl Replica<'_> {
    /// The `cudaStream_t` on which all that the step asks of the library is done in order, for
    /// kernels of yours; NULL of a replica on the CPU.
    pub fn stream(&self) -> Result<*mut c_void> {
        let mut stream = ptr::null_mut();
        // Safety: our handle.
        call(|error| unsafe { sys::mdist_replica_stream(self.raw(), &mut stream, error) })?;
        Ok(stream)
    }

    /// Has the library work on a stream of yours until the step ends, behind what it has been given
    /// so far; NULL: on its own again.
    ///
    /// # Safety
    /// `stream` is a `cudaStream_t` of the replica's GPU, or NULL, and lives until the step has
    /// ended.
    pub unsafe fn use_stream(&self, stream: *mut c_void) -> Result<()> {
        call(|error| sys::mdist_replica_use_stream(self.raw(), stream, error))
    }

    /// Does what `body` puts on the replica's stream, as a CUDA graph: the first time `body` is
    /// called and recorded, later the graph is launched. Where nothing is recorded, as on the CPU,
    /// `body` is called each time. If it fails, the step must fail, too.
    ///
    /// # Safety
    /// The graph uses the memory with which it was recorded each time: it must live as long as the
    /// strategy.
    pub unsafe fn graph(&self, key: u64, body: impl FnOnce() -> Result<()>) -> Result<()> {
        let mut record = 0;
        call(|error| sys::mdist_replica_graph_begin(self.raw(), key, &mut record, error))?;
        if record != 0 {
            body()?;
        }
        call(|error| sys::mdist_replica_graph_end(self.raw(), error))
    }

    /// [`copy_tensor`] behind what the replica's stream has been given. Done on return if one of
    /// the two is of the host, else in its turn.
    pub fn copy_tensor<'a, 'b>(
        &self,
        to: impl Into<TensorMut<'a>>,
        from: impl Into<Tensor<'b>>,
    ) -> Result<()> {
        let (to, from) = (to.into(), from.into());
        // Safety: as above; what is not done on return is about memory of GPUs, which the library
        // keeps for as long as it takes.
        call(|error| unsafe { sys::mdist_replica_copy(self.raw(), to.raw(), from.raw(), error) })
    }
}
