// SPDX-License-Identifier: Apache-2.0
//! What went wrong, and the way from a C status to a `Result`.
use std::ffi::CStr;
use std::fmt;
use std::os::raw::c_char;
use std::ptr;

use mdist_sys as sys;

/// Any error of a closure, as `?` makes it from every error type.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;
/// What steps and other closures return. The library calls this one's `Err`, and a panic, a failed
/// call.
pub type StepResult<T = ()> = std::result::Result<T, BoxError>;
pub type Result<T> = std::result::Result<T, Error>;

macro_rules! statuses {
    ($($(#[$comment:meta])* $name:ident = $number:ident,)*) => {
        /// The kind of an error. The list is closed; a number of a later library that this crate does not know is
        /// [`Status::Internal`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Status { $($(#[$comment])* $name,)* }

        impl Status {
            pub(crate) fn from_raw(status: sys::mdist_status) -> Status {
                match status { $(sys::$number => Status::$name,)* _ => Status::Internal }
            }
            /// The constant's name in the C API, such as `MDIST_ERR_TIMEOUT`.
            pub fn name(self) -> &'static str {
                match self { $(Status::$name => stringify!($number),)* }
            }
        }
    };
}
statuses! {
    /// A value that no call of this kind could accept.
    InvalidArgument = MDIST_ERR_INVALID_ARGUMENT,
    BadHandle = MDIST_ERR_BAD_HANDLE,
    /// Right call, wrong place; the message says what to call instead.
    WrongContext = MDIST_ERR_WRONG_CONTEXT,
    /// Not in this state, or not while another call is under way.
    FailedPrecondition = MDIST_ERR_FAILED_PRECONDITION,
    Config = MDIST_ERR_CONFIG,
    NotFound = MDIST_ERR_NOT_FOUND,
    /// This build or this host lacks it.
    Unsupported = MDIST_ERR_UNSUPPORTED,
    OutOfMemory = MDIST_ERR_OUT_OF_MEMORY,
    /// Threads, file descriptors, handles.
    Resource = MDIST_ERR_RESOURCE,
    Io = MDIST_ERR_IO,
    DataLoss = MDIST_ERR_DATA_LOSS,
    /// Replicas or workers disagree: operation, type, shape, order, count.
    Mismatch = MDIST_ERR_MISMATCH,
    Timeout = MDIST_ERR_TIMEOUT,
    PeerLost = MDIST_ERR_PEER_LOST,
    /// An earlier failure, or [`Strategy::abort`](crate::Strategy::abort), ended all collectives.
    Aborted = MDIST_ERR_ABORTED,
    Unauthenticated = MDIST_ERR_UNAUTHENTICATED,
    /// A closure returned an error or panicked: [`source`](std::error::Error::source) has it.
    Callback = MDIST_ERR_CALLBACK,
    Device = MDIST_ERR_DEVICE,
    /// A fault of the library: please report it.
    Internal = MDIST_ERR_INTERNAL,
}

/// What went wrong, in full. `Display` is one sentence with the bad value, the place, and what
/// would be right; if a closure caused it, also one of another worker, with the words of the closure's
/// error, 511 bytes of them at most. [`source`](std::error::Error::source) is that error itself, or a
/// [`Panic`](crate::Panic), where it is this worker's.
pub struct Error(Box<Story>);

struct Story {
    status: Status,
    reason: String,
    operation: String,
    replica: Option<u32>,
    rank: Option<u32>,
    native: i64,
    message: String,
    cause: Option<BoxError>,
}

impl Error {
    pub fn status(&self) -> Status {
        self.0.status
    }
    /// A stable word for programs, such as "unknown_key"; "" where the status says enough.
    pub fn reason(&self) -> &str {
        &self.0.reason
    }
    /// The C function or collective that failed, such as "mdist_all_reduce".
    pub fn operation(&self) -> &str {
        &self.0.operation
    }
    /// Id of the replica at fault; `None` where it is nobody's or not known.
    pub fn replica(&self) -> Option<u32> {
        self.0.replica
    }
    /// Rank of the worker at fault; `None` where it is nobody's or not known.
    pub fn rank(&self) -> Option<u32> {
        self.0.rank
    }
    /// The number underneath: errno, a device's code; 0 where there is none.
    pub fn native(&self) -> i64 {
        self.0.native
    }

    /// An error of this crate's own.
    pub(crate) fn new(status: Status, reason: &str, operation: &str, message: String) -> Error {
        let (reason, operation) = (reason.to_string(), operation.to_string());
        Error(Box::new(Story {
            status,
            reason,
            operation,
            replica: None,
            rank: None,
            native: 0,
            message,
            cause: None,
        }))
    }

    pub(crate) fn invalid(operation: &str, message: String) -> Error {
        Error::new(Status::InvalidArgument, "", operation, message)
    }

    /// A number that only a later version of the library has.
    pub(crate) fn unknown(operation: &str, what: &str, number: i32) -> Error {
        let sentence = format!("{what} of number {number}, which this crate does not know");
        Error::new(Status::Unsupported, "", operation, sentence)
    }

    pub(crate) fn caused_by(mut self, cause: BoxError) -> Error {
        self.0.cause = Some(cause);
        self
    }

    /// Takes over what a failed call left behind.
    unsafe fn from_raw(status: sys::mdist_status, error: *mut sys::mdist_error) -> Error {
        let known = Status::from_raw(status);
        let mut message = text(sys::mdist_error_message(error));
        if known == Status::Internal && status != sys::MDIST_ERR_INTERNAL {
            message = format!("{message} (status {status}, which this crate does not know)");
        }
        let story = Story {
            status: known,
            reason: text(sys::mdist_error_reason(error)),
            operation: text(sys::mdist_error_operation(error)),
            replica: or_none(sys::mdist_error_replica(error)),
            rank: or_none(sys::mdist_error_rank(error)),
            native: sys::mdist_error_native(error),
            message,
            cause: None,
        };
        sys::mdist_error_free(error);
        Error(Box::new(story))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0.message)
    }
}

/// The sentence again: it is what a program prints whose `main` returns this error.
impl fmt::Debug for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.cause.as_ref().map(|cause| &**cause as _)
    }
}

/// A C string of the library, copied.
pub(crate) unsafe fn text(text: *const c_char) -> String {
    CStr::from_ptr(text).to_string_lossy().into_owned()
}

/// Makes a call that can fail; `Ok(false)` is MDIST_END.
pub(crate) fn call_or_end(
    call: impl FnOnce(*mut *mut sys::mdist_error) -> sys::mdist_status,
) -> Result<bool> {
    let mut error = ptr::null_mut();
    match call(&mut error) {
        sys::MDIST_OK => Ok(true),
        sys::MDIST_END => Ok(false),
        // Safety: a failed call has written an error, or left NULL where it had no memory; the
        // functions take both.
        status => Err(unsafe { Error::from_raw(status, error) }),
    }
}

/// Makes a call that can fail.
pub(crate) fn call(
    call: impl FnOnce(*mut *mut sys::mdist_error) -> sys::mdist_status,
) -> Result<()> {
    call_or_end(call).map(drop)
}

/// Makes a call that gives one thing through an `out` parameter.
pub(crate) fn make<T>(
    make: impl FnOnce(*mut *mut T, *mut *mut sys::mdist_error) -> sys::mdist_status,
) -> Result<*mut T> {
    let mut out = ptr::null_mut();
    call(|error| make(&mut out, error)).map(|()| out)
}

/// The number of a replica or worker; `MDIST_NONE` means that there is none.
pub(crate) fn or_none(number: u32) -> Option<u32> {
    (number != sys::MDIST_NONE).then_some(number)
}
