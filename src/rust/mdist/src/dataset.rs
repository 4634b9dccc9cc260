// SPDX-License-Identifier: Apache-2.0
//! Datasets: descriptions of elements, and iterators that produce them.
use std::iter::FusedIterator;
use std::mem::{self, ManuallyDrop};
use std::os::raw::c_void;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use mdist_sys as sys;

use crate::array::Array;
use crate::cause::Causes;
use crate::config::{c_string, read_text};
use crate::error::{call, call_or_end, make, Result};
use crate::Value;

/// A description of elements, each of one or more components (say image and label). Transforming it
/// gives a new one and leaves it as it was.
pub struct Dataset {
    raw: NonNull<sys::mdist_dataset>,
    causes: Arc<Causes>, // of the maps on the way; all that is derived from one source shares them
}

// Safety: functions of datasets are for any thread, at the same time too. What the library keeps
// for them is memory that nobody changes, and closures that are Send and Sync.
unsafe impl Send for Dataset {}
unsafe impl Sync for Dataset {}

impl Dataset {
    /// A source whose element i is row i of each array. They are not copied.
    pub fn from_arrays(arrays: Vec<Array>) -> Result<Dataset> {
        let tensors: Vec<_> = arrays.iter().map(|array| *array.tensor().raw()).collect();
        let kept = Box::into_raw(Box::new(arrays)).cast();
        // Safety: the memory stays where it is and as it is until free_arrays, which is called
        // exactly once, whatever happens.
        let raw = make(|out, error| unsafe {
            sys::mdist_dataset_from_tensors(
                tensors.as_ptr(),
                tensors.len(),
                kept,
                Some(free_arrays),
                out,
                ptr::null(),
                error,
            )
        })?;
        Ok(Dataset::own(raw, Arc::default()))
    }

    pub(crate) fn own(raw: *mut sys::mdist_dataset, causes: Arc<Causes>) -> Dataset {
        Dataset {
            raw: NonNull::new(raw).expect("a call that succeeds gives a dataset"),
            causes,
        }
    }

    pub(crate) fn raw(&self) -> *mut sys::mdist_dataset {
        self.raw.as_ptr()
    }

    /// The handle, for the library to own.
    pub(crate) fn release(self) -> *mut sys::mdist_dataset {
        let mut kept = ManuallyDrop::new(self);
        // Safety: nobody uses it any more.
        unsafe { ptr::drop_in_place(&mut kept.causes) };
        kept.raw.as_ptr()
    }

    pub(crate) fn causes(&self) -> &Arc<Causes> {
        &self.causes
    }

    /// What all transformations have in common: a call from a dataset to another.
    pub(crate) fn derive(
        &self,
        make_it: impl FnOnce(
            *const sys::mdist_dataset,
            *mut *mut sys::mdist_dataset,
            *mut *mut sys::mdist_error,
        ) -> sys::mdist_status,
    ) -> Result<Dataset> {
        let raw = make(|out, error| make_it(self.raw.as_ptr(), out, error))?;
        Ok(Dataset::own(raw, self.causes.clone()))
    }

    /// Keeps elements index, index + shards, index + 2 * shards ...
    pub fn shard(&self, shards: u64, index: u64) -> Result<Dataset> {
        // Safety, here and below: derive gives a handle of ours.
        self.derive(|from, out, error| unsafe {
            sys::mdist_dataset_shard(from, shards, index, out, ptr::null(), error)
        })
    }

    /// Picks each next element at random from a buffer, refilled from the source; one as large as
    /// the dataset shuffles it evenly. The order is a function of the seed and, with
    /// `reshuffle_each_iteration`, of how often it was iterated.
    pub fn shuffle(
        &self,
        buffer_size: u64,
        seed: u64,
        reshuffle_each_iteration: bool,
    ) -> Result<Dataset> {
        let options = chosen(sys::MDIST_DATASET_SAME_ORDER, !reshuffle_each_iteration);
        self.derive(|from, out, error| unsafe {
            sys::mdist_dataset_shuffle(from, buffer_size, seed, out, &options, error)
        })
    }

    /// The source `count` times over.
    pub fn repeat(&self, count: u64) -> Result<Dataset> {
        self.derive(|from, out, error| unsafe {
            sys::mdist_dataset_repeat(from, count, out, ptr::null(), error)
        })
    }

    /// The source over and over, without end.
    pub fn repeat_forever(&self) -> Result<Dataset> {
        self.repeat(sys::MDIST_FOREVER)
    }

    /// Joins consecutive elements along a new first dimension. The last batch may be shorter, or
    /// left out.
    pub fn batch(&self, batch_size: u64, drop_remainder: bool) -> Result<Dataset> {
        let options = chosen(sys::MDIST_DATASET_DROP_REMAINDER, drop_remainder);
        self.derive(|from, out, error| unsafe {
            sys::mdist_dataset_batch(from, batch_size, out, &options, error)
        })
    }

    /// Prepares up to so many elements ahead, on a thread of each iterator.
    pub fn prefetch(&self, elements: u64) -> Result<Dataset> {
        self.derive(|from, out, error| unsafe {
            sys::mdist_dataset_prefetch(from, elements, out, ptr::null(), error)
        })
    }

    /// Components of an element.
    pub fn component_count(&self) -> usize {
        // Safety: our handle.
        unsafe { sys::mdist_dataset_component_count(self.raw.as_ptr()) }
    }

    /// Starts an iteration.
    pub fn iter(&self) -> Result<Iter> {
        // Safety: our handle.
        let raw = make(|out, error| unsafe {
            sys::mdist_iterator_create(self.raw.as_ptr(), out, error)
        })?;
        Ok(Iter {
            raw: NonNull::new(raw).expect("a call that succeeds gives an iterator"),
            components: self.component_count(),
            causes: self.causes.clone(),
            ended: Arc::default(),
        })
    }
}

impl Drop for Dataset {
    fn drop(&mut self) {
        // Safety: ours, and this is the end of it. Those made from it live on.
        unsafe { sys::mdist_dataset_destroy(self.raw.as_ptr()) }
    }
}

/// Options with one flag, or none.
pub(crate) fn chosen(flag: u32, is_chosen: bool) -> sys::mdist_dataset_options {
    sys::mdist_dataset_options {
        struct_size: mem::size_of::<sys::mdist_dataset_options>() as u32,
        flags: if is_chosen { flag } else { 0 },
        parallel_calls: 0,
        reserved: 0,
    }
}

/// Produces a dataset's elements: of each one value for each component, plain, or per-replica from
/// a distributed dataset. It ends after the last, or after an error.
pub struct Iter {
    raw: NonNull<sys::mdist_iterator>,
    components: usize,
    causes: Arc<Causes>,
    ended: Arc<AtomicBool>, // a checkpoint that restores it takes it back
}

// Safety: any thread, one at a time, as `&mut self` says; closures that it calls are Send and Sync.
unsafe impl Send for Iter {}
unsafe impl Sync for Iter {}

impl Iter {
    pub(crate) fn raw(&self) -> *mut sys::mdist_iterator {
        self.raw.as_ptr()
    }

    pub(crate) fn causes(&self) -> &Arc<Causes> {
        &self.causes
    }

    pub(crate) fn ended(&self) -> &Arc<AtomicBool> {
        &self.ended
    }

    /// The position, as a text for [`Iter::restore`] on an iterator of the same dataset.
    pub fn save(&mut self) -> Result<String> {
        let raw = self.raw();
        // Safety: our handle, exclusively.
        read_text(|text, capacity, needed, error| unsafe {
            sys::mdist_iterator_save(raw, text, capacity, needed, error)
        })
    }

    /// Goes on where another iterator of the same dataset was when it gave the text.
    pub fn restore(&mut self, text: &str) -> Result<()> {
        let (raw, text) = (self.raw(), c_string(text, "mdist_iterator_restore")?);
        // Safety: our handle, exclusively.
        let restored =
            call(|error| unsafe { sys::mdist_iterator_restore(raw, text.as_ptr(), error) });
        self.causes.attach(restored)?;
        self.ended.store(false, Ordering::Relaxed);
        Ok(())
    }
}

impl Iterator for Iter {
    type Item = Result<Vec<Value>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended.load(Ordering::Relaxed) {
            return None;
        }
        let mut values = vec![ptr::null_mut(); self.components];
        let (raw, out) = (self.raw.as_ptr(), values.as_mut_ptr());
        // Safety: our handle, exclusively, and room for all components.
        let more = call_or_end(|error| unsafe {
            sys::mdist_iterator_next(raw, out, self.components, error)
        });
        // The library would give the same error for ever.
        self.ended
            .store(!matches!(more, Ok(true)), Ordering::Relaxed);
        match self.causes.attach(more) {
            Ok(true) => Some(Ok(values.into_iter().map(Value::own).collect())),
            Ok(false) => None,
            Err(error) => Some(Err(error)),
        }
    }
}

impl FusedIterator for Iter {}

impl Drop for Iter {
    fn drop(&mut self) {
        // Safety: ours, and this is the end of it. A map function that is running on the prefetching
        // thread goes on to its end; it owns all it uses.
        unsafe { sys::mdist_iterator_destroy(self.raw.as_ptr()) }
    }
}

/// Frees memory and nothing else, as an mdist_free_fn must.
unsafe extern "C" fn free_arrays(arrays: *mut c_void) {
    drop(Box::from_raw(arrays.cast::<Vec<Array>>()));
}
