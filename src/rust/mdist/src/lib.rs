// SPDX-License-Identifier: Apache-2.0
//! Mirrored training: one copy of every variable per device, kept equal; a step on all replicas at
//! the same time; collectives between them; the input cut over them. The safe layer over libmdist's
//! C API.
//!
//! A [`Strategy`] owns this process's devices; on each stands a replica. [`Strategy::run`] calls a
//! closure once per replica, with a [`Replica`]. What takes a replica belongs in a step, and every
//! replica makes the same call; what takes a strategy belongs outside. Mixed up, they say what to
//! call instead.
//!
//! ```
//! use mdist::{Config, Op, Strategy};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut config = Config::new()?;
//! config.set("devices", "cpu*2")?;
//! let strategy = Strategy::new(&config)?;
//! strategy.run(|replica| {
//!     let mut x = (replica.id() + 1) as f32;
//!     replica.all_reduce(Op::Sum, &mut x)?;
//!     assert_eq!(x, 3.0);
//!     Ok(())
//! })?;
//! # Ok(())
//! # }
//! ```
//!
//! # Errors and panics
//!
//! Closures return [`StepResult`]: `?` takes every error. A failing closure, or a panic, fails the
//! call that it was given to and releases all other replicas; that call returns the first cause as
//! an [`Error`], whose `Display` is the library's sentence with the words of the closure's error, and
//! whose `source` is that error, or a [`Panic`]. The strategy can be used again. (With `panic = "abort"` there is nothing
//! to catch.)
//!
//! # Threads
//!
//! [`Strategy`], [`Variable`], [`Dataset`] and [`Value`] are `Send` and `Sync`; what may not happen
//! at the same time is an error, reason "busy". A [`Replica`], a [`Work`] and the slices of
//! variables stay on the thread of their step.
//!
//! # Memory
//!
//! Tensors borrow, values and arrays own. Slices are memory of the host; what lies on a GPU is a
//! tensor, and [`copy_tensor`] brings it to a slice and back. A variable's copies are reached through guards
//! ([`CopyRef`], [`CopyMut`]), and whoever comes in between is refused. A started collective owns
//! its buffers until it is done.
#![warn(rust_2018_idioms)]

mod array;
mod buffer;
mod cause;
mod checkpoint;
mod config;
mod copies;
mod copy_tensors;
mod dataset;
mod elastic;
mod element;
mod elements;
mod error;
mod gpu;
mod gradients;
mod group;
mod input;
mod loss;
mod map;
mod membership;
mod memory;
mod merge;
mod message;
mod names;
mod operator;
mod options;
mod prepared;
mod replica;
mod root;
mod run;
mod sources;
mod steps;
mod strategy;
mod structure;
mod tensor;
mod threads;
mod transforms;
mod update;
mod value;
mod variable;
mod version;
mod work;

pub use array::Array;
pub use buffer::{Buffers, BuffersMut, Slice, SliceMut};
pub use cause::Panic;
pub use checkpoint::{latest_checkpoint, Checkpoint};
pub use config::Config;
pub use copies::{CopyMut, CopyRef};
pub use copy_tensors::{TensorRef, TensorRefMut};
pub use dataset::{Dataset, Iter};
pub use elastic::{Blob, Regrouped};
pub use element::{Bf16, Bool, Dtype, Element, F16};
pub use error::{BoxError, Error, Result, Status, StepResult};
pub use gpu::{copy_tensor, gpus, Gpus};
pub use gradients::{Gradients, GradientsOptions, Like, Reduced, ReplicaGradients};
pub use group::Group;
pub use input::{
    InputOptions, InputPipeline, ReplicationMode, ShardPolicy, Uneven, ONE_PER_WORKER,
};
pub use map::{Output, UNKNOWN_LENGTH};
pub use membership::Verdict;
pub use memory::Memory;
pub use operator::{Operator, Registered};
pub use prepared::{Preparation, Prepared};
pub use replica::Replica;
pub use run::Run;
pub use sources::{Compression, ReadOptions, RecordWriter};
pub use steps::Loop;
pub use strategy::{Op, Strategy};
pub use tensor::{Device, Tensor, TensorMut};
pub use threads::{Entered, OpenRun};
pub use value::{Value, ValueKind};
pub use variable::{Aggregation, Assign, Synchronization, Variable, VariableOptions};
pub use version::version;
pub use work::{OwnedBuffers, Work};

/// Whether this build and this host can do something: "cuda", "avx2" ...
pub fn has(feature: &str) -> bool {
    match std::ffi::CString::new(feature) {
        // Safety: text that outlives the call.
        Ok(feature) => unsafe { mdist_sys::mdist_has(feature.as_ptr()) != 0 },
        Err(_) => false,
    }
}
