// SPDX-License-Identifier: Apache-2.0
//! Input: how a dataset is distributed over the workers of a job and their replicas.
use std::mem;
use std::os::raw::c_void;
use std::ptr;
use std::sync::Arc;

use mdist_sys as sys;

use crate::cause::{catch, Causes};
use crate::config::read_text;
use crate::error::{call, make, Result, StepResult};
use crate::options::options;
use crate::{Dataset, Iter, Strategy};

/// Who reads what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShardPolicy {
    /// Every worker reads everything.
    Off,
    /// What the configuration says, else `File` where only files are read, else `Data`.
    Auto,
    /// The workers share out the files.
    File,
    /// Each worker keeps its part of every batch.
    Data,
    /// Each [`Dataset::shard`] with [`ONE_PER_WORKER`] becomes the shard of this worker.
    Marked,
}

/// As the number of shards in [`Dataset::shard`]: one shard for each worker.
pub const ONE_PER_WORKER: u64 = sys::MDIST_ONE_PER_WORKER;

/// What happens to rows that cannot be shared out evenly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Uneven {
    /// What TensorFlow does.
    Default,
    /// Shares of a batch differ by at most one row.
    Spread,
    /// All shares are equal, and the remaining rows are left out.
    Drop,
}

/// For whom a function makes a dataset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReplicationMode {
    PerWorker,
    /// Only in a job of one worker.
    PerReplica,
}

options! {
    /// How to distribute. By default as the configuration says.
    #[derive(Clone, Debug, PartialEq)]
    pub struct InputOptions {
        /// Who reads what.
        policy: ShardPolicy = ShardPolicy::Auto,
        /// What happens to rows that cannot be shared out evenly.
        uneven: Uneven = Uneven::Default,
        /// For whom the function makes a dataset. Only with [`Strategy::distribute_from_function`].
        mode: ReplicationMode = ReplicationMode::PerWorker,
        /// Whether each replica gets a part of each element (the default); else whole elements in
        /// turn.
        split: bool = true,
        /// Ends before a step in which some replica would get nothing.
        whole_steps: bool = false,
        /// Runs the dataset where the replica runs. Only with [`ReplicationMode::PerReplica`].
        place_on_device: bool = false,
        /// Whether to make the next elements while the program works; `None`: as the configuration
        /// says.
        fetch_to_device: Option<bool> = None,
        /// How many elements of each replica are made ahead when fetching; 0: 1.
        buffer_size: u64 = 0,
        /// One for each replica of the job: rows are shared out in proportion. Empty: all alike.
        weights: Vec<f64> = Vec::new(),
    }
}

impl InputOptions {
    /// It points into self.
    fn raw(&self) -> sys::mdist_input_options {
        let flag = |set: bool, flag: u32| if set { flag } else { 0 };
        sys::mdist_input_options {
            struct_size: mem::size_of::<sys::mdist_input_options>() as u32,
            flags: flag(!self.split, sys::MDIST_INPUT_NO_SPLIT)
                | flag(self.whole_steps, sys::MDIST_INPUT_WHOLE_STEPS)
                | flag(self.place_on_device, sys::MDIST_INPUT_PLACE_ON_DEVICE),
            policy: match self.policy {
                ShardPolicy::Off => sys::MDIST_SHARD_OFF,
                ShardPolicy::Auto => sys::MDIST_SHARD_AUTO,
                ShardPolicy::File => sys::MDIST_SHARD_FILE,
                ShardPolicy::Data => sys::MDIST_SHARD_DATA,
                ShardPolicy::Marked => sys::MDIST_SHARD_MARKED,
            },
            uneven: match self.uneven {
                Uneven::Default => sys::MDIST_UNEVEN_DEFAULT,
                Uneven::Spread => sys::MDIST_UNEVEN_SPREAD,
                Uneven::Drop => sys::MDIST_UNEVEN_DROP,
            },
            replication_mode: match self.mode {
                ReplicationMode::PerWorker => sys::MDIST_REPLICATION_PER_WORKER,
                ReplicationMode::PerReplica => sys::MDIST_REPLICATION_PER_REPLICA,
            },
            fetch_to_device: self
                .fetch_to_device
                .map_or(0, |fetch| if fetch { 1 } else { -1 }),
            buffer_size: self.buffer_size,
            weights: if self.weights.is_empty() {
                ptr::null()
            } else {
                self.weights.as_ptr()
            },
            weight_count: self.weights.len(),
        }
    }
}

/// For whom a dataset is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InputPipeline {
    /// Datasets made for the job: one for each worker, or for each replica.
    pub count: u32,
    /// Which of them this one is.
    pub index: u32,
    /// Replicas of the job.
    pub replica_count: u32,
}

impl InputPipeline {
    /// How many rows of the global batch one replica gets. An error if they cannot be shared out
    /// evenly.
    pub fn batch_size(&self, global_batch_size: u64) -> Result<u64> {
        let context = sys::mdist_input_context {
            struct_size: mem::size_of::<sys::mdist_input_context>() as u32,
            pipeline_count: self.count,
            pipeline: self.index,
            replica_count: self.replica_count,
        };
        let mut size = 0;
        // Safety: a struct and a number of ours.
        call(|error| unsafe {
            sys::mdist_input_context_batch_size(&context, global_batch_size, &mut size, error)
        })?;
        Ok(size)
    }
}

struct Making<'a, F> {
    make: &'a F,
    causes: Arc<Causes>, // also of the maps in what is made
}

impl Strategy {
    /// Distributes a dataset of global batches over the replicas of the job. The result can be
    /// iterated, and not be transformed further. All workers call it together.
    pub fn distribute_dataset_with(
        &self,
        dataset: &Dataset,
        options: &InputOptions,
    ) -> Result<Dataset> {
        let options = options.raw();
        // Safety: handles of ours; the weights outlive the call.
        dataset.derive(|from, out, error| unsafe {
            sys::mdist_distribute_dataset(self.raw(), from, out, &options, error)
        })
    }

    /// Distributes the dataset that `make` makes, whose elements are batches of one replica. In each
    /// step every replica of this worker in turn takes one. All workers call it together.
    pub fn distribute_from_function<F>(&self, options: &InputOptions, make_it: F) -> Result<Dataset>
    where
        F: Fn(InputPipeline) -> StepResult<Dataset>,
    {
        let options = options.raw();
        let context = Making {
            make: &make_it,
            causes: Arc::default(),
        };
        // Safety: the closure is called on this thread, in this call.
        let made = make(|out, error| unsafe {
            sys::mdist_distribute_from_function(
                self.raw(),
                Some(dataset_of::<F>),
                &context as *const Making<'_, F> as *mut c_void,
                out,
                &options,
                error,
            )
        });
        let raw = context.causes.attach(made)?;
        Ok(Dataset::own(raw, context.causes))
    }
}

/// An mdist_dataset_fn around the closure in `user_data`.
unsafe extern "C" fn dataset_of<F>(
    context: *const sys::mdist_input_context,
    out: *mut *mut sys::mdist_dataset,
    user_data: *mut c_void,
) -> i32
where
    F: Fn(InputPipeline) -> StepResult<Dataset>,
{
    let making = &*(user_data as *const Making<'_, F>);
    let pipeline = InputPipeline {
        count: (*context).pipeline_count,
        index: (*context).pipeline,
        replica_count: (*context).replica_count,
    };
    let result = catch(|| {
        let made = (making.make)(pipeline)?;
        making.causes.look_in(made.causes());
        *out = made.release();
        Ok(())
    });
    making.causes.code_of(result)
}

impl Dataset {
    /// Says in lines for people how it is made. For a distributed dataset also which policy was
    /// taken and why, who reads what, and how many rows each replica gets in a step.
    pub fn explain(&self) -> Result<String> {
        // Safety: our handle.
        read_text(|text, capacity, needed, error| unsafe {
            sys::mdist_dataset_explain(self.raw(), text, capacity, needed, error)
        })
    }
}

impl Iter {
    /// How many rows each replica of the job, by id, got in the last element of a distributed
    /// dataset: the denominators of means if steps are not even.
    pub fn row_counts(&mut self, strategy: &Strategy) -> Result<Vec<u64>> {
        let mut rows = vec![0; strategy.replica_count() as usize];
        // Safety: our handle, exclusively, and room for all replicas.
        call(|error| unsafe {
            sys::mdist_iterator_row_counts(self.raw(), rows.as_mut_ptr(), rows.len(), error)
        })?;
        Ok(rows)
    }
}
