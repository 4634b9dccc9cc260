// SPDX-License-Identifier: Apache-2.0
//! Sources of datasets: numbers, closures, and files.
use std::ffi::OsStr;
use std::mem;
use std::os::raw::{c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use mdist_sys as sys;

use crate::cause::{catch, drop_quietly, Causes};
use crate::dataset::chosen;
use crate::error::{call, make, Error, Result, StepResult};
use crate::map::{raw_outputs, zeroed};
use crate::options::options;
use crate::tensor::TensorMut;
use crate::{Dataset, Iter, Output};

/// How the bytes of a file are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compression {
    None,
    Gzip,
    Zlib,
}

impl Compression {
    fn raw(self) -> sys::mdist_compression {
        match self {
            Compression::None => sys::MDIST_COMPRESSION_NONE,
            Compression::Gzip => sys::MDIST_COMPRESSION_GZIP,
            Compression::Zlib => sys::MDIST_COMPRESSION_ZLIB,
        }
    }
}

options! {
    /// How files are read. By default one after the other, uncompressed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct ReadOptions {
        /// How the bytes of the files are compressed.
        compression: Compression = Compression::None,
        /// Leaves corrupt records out, and counts them ([`Iter::skipped`]); else they are an error.
        skip_corrupt: bool = false,
        /// How many files are open at a time and take turns; 0: 1.
        cycle_length: u64 = 0,
        /// How many records a file gives in its turn; 0: 1.
        block_length: u64 = 0,
        /// A longer record or line is corrupt; 0: 1 GiB.
        max_record_bytes: u64 = 0,
        /// How many of the open files are read ahead at a time, on threads of the iterator.
        parallel_files: u64 = 0,
    }
}

impl ReadOptions {
    fn raw(&self) -> sys::mdist_read_options {
        sys::mdist_read_options {
            struct_size: mem::size_of::<sys::mdist_read_options>() as u32,
            flags: 0,
            compression: self.compression.raw(),
            on_corrupt: if self.skip_corrupt {
                sys::MDIST_ON_CORRUPT_SKIP
            } else {
                sys::MDIST_ON_CORRUPT_FAIL
            },
            cycle_length: self.cycle_length,
            block_length: self.block_length,
            max_record_bytes: self.max_record_bytes,
            parallel_files: self.parallel_files,
        }
    }
}

struct Generator<F> {
    begin: F,
    causes: Arc<Causes>,
}

impl Dataset {
    /// `i64` scalars: start, start + step ... before stop.
    pub fn range(start: i64, stop: i64, step: i64) -> Result<Dataset> {
        // Safety: numbers.
        let raw = make(|out, error| unsafe {
            sys::mdist_dataset_range(start, stop, step, out, ptr::null(), error)
        })?;
        Ok(Dataset::own(raw, Arc::default()))
    }

    /// Elements that closures make. `begin` is called for each iteration and epoch, and gives the
    /// closure that fills the tensors of one element, which hold zeros, or returns `false` at the
    /// end. They may run on any thread, so a prefetch may follow.
    pub fn from_generator<F, G>(outputs: &[Output], begin: F) -> Result<Dataset>
    where
        F: Fn() -> StepResult<G> + Send + Sync + 'static,
        G: FnMut(&mut [TensorMut<'_>]) -> StepResult<bool> + Send + 'static,
    {
        let outputs = raw_outputs(outputs)?;
        let causes = Arc::<Causes>::default();
        let generator = Box::new(Generator {
            begin,
            causes: causes.clone(),
        });
        let kept = Box::into_raw(generator).cast();
        let options = chosen(sys::MDIST_DATASET_ANY_THREAD, true);
        // Safety: the closures may be called from any thread until they are freed, which happens
        // exactly once, whatever happens.
        let raw = make(|out, error| unsafe {
            sys::mdist_dataset_from_generator(
                Some(generate_of::<F, G>),
                kept,
                Some(free_box::<Generator<F>>),
                Some(free_box::<G>),
                outputs.as_ptr(),
                outputs.len(),
                out,
                &options,
                error,
            )
        })?;
        Ok(Dataset::own(raw, causes))
    }

    /// The names of files, in this order. Whether they exist shows when they are read.
    pub fn files<P: AsRef<Path>>(paths: &[P]) -> Result<Dataset> {
        names(
            paths,
            "mdist_dataset_files",
            |texts, count, out, error| unsafe {
                // Safety: texts that outlive the call.
                sys::mdist_dataset_files(texts, count, out, ptr::null(), error)
            },
        )
    }

    /// The sorted names of all files that match one of the patterns: `*`, `?` and `[a-z]`, as in a
    /// shell. [`Status::NotFound`](crate::Status::NotFound) if nothing matches.
    pub fn match_files<P: AsRef<Path>>(patterns: &[P]) -> Result<Dataset> {
        names(
            patterns,
            "mdist_dataset_match_files",
            |texts, count, out, error| unsafe {
                // Safety: texts that outlive the call.
                sys::mdist_dataset_match_files(texts, count, out, ptr::null(), error)
            },
        )
    }

    /// The lines of the files that this dataset names, without line ends: `u8` tensors.
    pub fn text_lines(&self, options: ReadOptions) -> Result<Dataset> {
        let options = options.raw();
        // Safety, here and below: derive gives a handle of ours.
        self.derive(|from, out, error| unsafe {
            sys::mdist_dataset_text_lines(from, out, &options, error)
        })
    }

    /// Records of so many bytes each, between a header and a footer of each file: `u8` tensors.
    pub fn fixed_records(
        &self,
        record_bytes: u64,
        header_bytes: u64,
        footer_bytes: u64,
        options: ReadOptions,
    ) -> Result<Dataset> {
        let options = options.raw();
        self.derive(|from, out, error| unsafe {
            sys::mdist_dataset_fixed_records(
                from,
                record_bytes,
                header_bytes,
                footer_bytes,
                out,
                &options,
                error,
            )
        })
    }

    /// The records of TFRecord files, whose checksums are verified: `u8` tensors.
    pub fn tfrecords(&self, options: ReadOptions) -> Result<Dataset> {
        let options = options.raw();
        self.derive(|from, out, error| unsafe {
            sys::mdist_dataset_tfrecords(from, out, &options, error)
        })
    }
}

/// Makes a dataset of texts.
fn names<P: AsRef<Path>>(
    paths: &[P],
    operation: &str,
    make_it: impl FnOnce(
        *const *const c_char,
        usize,
        *mut *mut sys::mdist_dataset,
        *mut *mut sys::mdist_error,
    ) -> sys::mdist_status,
) -> Result<Dataset> {
    let texts = paths
        .iter()
        .map(|path| path_text(path.as_ref(), operation))
        .collect::<Result<Vec<_>>>()?;
    let pointers: Vec<_> = texts.iter().map(|text| text.as_ptr()).collect();
    let raw = make(|out, error| make_it(pointers.as_ptr(), pointers.len(), out, error))?;
    Ok(Dataset::own(raw, Arc::default()))
}

/// A path need not be UTF-8.
fn path_text(path: &Path, operation: &str) -> Result<std::ffi::CString> {
    let bytes = OsStr::new(path).as_bytes();
    std::ffi::CString::new(bytes).map_err(|_| {
        let sentence = format!("{path:?} has a NUL, where it would end for C");
        Error::invalid(operation, sentence)
    })
}

/// An mdist_generate_fn. The state of an iteration is the closure that `begin` gave.
unsafe extern "C" fn generate_of<F, G>(
    index: u64,
    outputs: *const sys::mdist_tensor,
    output_count: usize,
    state: *mut *mut c_void,
    user_data: *mut c_void,
) -> i32
where
    F: Fn() -> StepResult<G>,
    G: FnMut(&mut [TensorMut<'_>]) -> StepResult<bool>,
{
    let generator = &*(user_data as *const Generator<F>);
    let mut more = true;
    let result = catch(|| {
        if index == 0 {
            *state = Box::into_raw(Box::new((generator.begin)()?)).cast();
        }
        let next = &mut *(*state).cast::<G>();
        let mut outputs: Vec<_> = (0..output_count)
            .map(|index| zeroed(&*outputs.add(index)))
            .collect();
        more = next(&mut outputs)?;
        Ok(())
    });
    match generator.causes.code_of(result) {
        0 if !more => sys::MDIST_END,
        code => code,
    }
}

/// An mdist_free_fn. What closures own may be handles: destroying those is allowed here.
unsafe extern "C" fn free_box<T>(kept: *mut c_void) {
    drop_quietly(Box::from_raw(kept.cast::<T>()));
}

impl Iter {
    /// How many corrupt records its sources have left out so far.
    pub fn skipped(&self) -> Result<u64> {
        let mut count = 0;
        // Safety: our handle.
        call(|error| unsafe { sys::mdist_iterator_skipped(self.raw(), &mut count, error) })?;
        Ok(count)
    }
}

/// A TFRecord file that is being written. It has another name in its folder until
/// [`close`](RecordWriter::close); dropped before, it is removed.
pub struct RecordWriter(NonNull<sys::mdist_record_writer>);

// Safety: functions of writers are for any thread, one at a time, as `&mut self` says.
unsafe impl Send for RecordWriter {}
unsafe impl Sync for RecordWriter {}

impl RecordWriter {
    /// Readers need the same compression.
    pub fn new(path: impl AsRef<Path>, compression: Compression) -> Result<RecordWriter> {
        let path = path_text(path.as_ref(), "mdist_record_writer_create")?;
        let options = sys::mdist_record_writer_options {
            struct_size: mem::size_of::<sys::mdist_record_writer_options>() as u32,
            compression: compression.raw(),
        };
        // Safety: a text that outlives the call.
        let raw = make(|out, error| unsafe {
            sys::mdist_record_writer_create(path.as_ptr(), out, &options, error)
        })?;
        Ok(RecordWriter(
            NonNull::new(raw).expect("a call that succeeds gives a writer"),
        ))
    }

    /// Adds a record.
    pub fn write(&mut self, record: &[u8]) -> Result<()> {
        // Safety: our handle, and memory for its length.
        call(|error| unsafe {
            sys::mdist_record_writer_write(
                self.0.as_ptr(),
                record.as_ptr().cast(),
                record.len(),
                error,
            )
        })
    }

    /// Ends the file, flushes it to the disk and gives it its name.
    pub fn close(self) -> Result<()> {
        // Safety: our handle.
        call(|error| unsafe { sys::mdist_record_writer_close(self.0.as_ptr(), error) })
    }
}

impl Drop for RecordWriter {
    fn drop(&mut self) {
        // Safety: ours, and this is the end of it.
        unsafe { sys::mdist_record_writer_destroy(self.0.as_ptr()) }
    }
}
