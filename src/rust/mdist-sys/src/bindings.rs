// SPDX-License-Identifier: Apache-2.0
// Made by regenerate.

pub const MDIST_VERSION_MAJOR: u32 = 0;
pub const MDIST_VERSION_MINOR: u32 = 3;
pub const MDIST_VERSION_PATCH: u32 = 0;
pub const MDIST_VERSION: u32 = 300;
pub const MDIST_FOREVER: u64 = 9223372036854775553;
pub const MDIST_NONE: u32 = 4294967295;
pub const MDIST_MAX_RANK: u32 = 8;
pub const MDIST_UNKNOWN_LENGTH: u64 = 9223372036854775554;
pub const MDIST_DATASET_DROP_REMAINDER: u32 = 1;
pub const MDIST_DATASET_SAME_ORDER: u32 = 2;
pub const MDIST_DATASET_UNORDERED: u32 = 4;
pub const MDIST_DATASET_ANY_THREAD: u32 = 8;
pub const MDIST_LATEST: u64 = 9223372036854775555;
pub const MDIST_RESTORE_PARTIAL: u32 = 1;
pub const MDIST_ONE_PER_WORKER: u64 = 9223372036854775556;
pub const MDIST_INPUT_NO_SPLIT: u32 = 1;
pub const MDIST_INPUT_WHOLE_STEPS: u32 = 2;
pub const MDIST_INPUT_PLACE_ON_DEVICE: u32 = 4;
pub const MDIST_OPERATOR_MAX_BYTES: u32 = 1073741823;
pub type __int32_t = ::std::os::raw::c_int;
pub type __uint32_t = ::std::os::raw::c_uint;
pub type __int64_t = ::std::os::raw::c_long;
pub type __uint64_t = ::std::os::raw::c_ulong;
#[doc = " Releases the user_data of a registration."]
#[doc = ""]
#[doc = " - The library calls it exactly once for every registration that took it, even if the registration failed. The call"]
#[doc = "   comes as soon as nothing keeps the user_data any more, possibly on a thread of the library."]
#[doc = " - The function may call `_destroy` functions and mdist_free, and nothing else of the library."]
#[doc = " - The function must not throw or end its thread."]
pub type mdist_free_fn =
    ::std::option::Option<unsafe extern "C" fn(user_data: *mut ::std::os::raw::c_void)>;
extern "C" {
    #[doc = " Returns the version of the running library, in the format of MDIST_VERSION."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_version() -> u32;
}
extern "C" {
    #[doc = " Returns 1 if this build and this host support @p feature, else 0."]
    #[doc = ""]
    #[doc = " Known features: \"cuda\", \"nccl\", \"shm\", \"tcp\", \"avx2\", \"avx512\" and \"secret\" (of a job). Unknown names, and"]
    #[doc = " NULL, give 0. \"cuda\" and \"nccl\" load the library's module for it. CUDA does not survive a fork: do not ask"]
    #[doc = " for \"cuda\" or \"nccl\" before a fork whose child uses GPUs."]
    #[doc = " @thread any   @blocks while a module is loaded, the first time   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_has(feature: *const ::std::os::raw::c_char) -> i32;
}
pub const MDIST_OK: mdist_status = 0;
pub const MDIST_END: mdist_status = 1;
pub const MDIST_ERR_INVALID_ARGUMENT: mdist_status = -1;
pub const MDIST_ERR_BAD_HANDLE: mdist_status = -2;
pub const MDIST_ERR_WRONG_CONTEXT: mdist_status = -3;
pub const MDIST_ERR_FAILED_PRECONDITION: mdist_status = -4;
pub const MDIST_ERR_CONFIG: mdist_status = -5;
pub const MDIST_ERR_NOT_FOUND: mdist_status = -6;
pub const MDIST_ERR_UNSUPPORTED: mdist_status = -7;
pub const MDIST_ERR_OUT_OF_MEMORY: mdist_status = -8;
pub const MDIST_ERR_RESOURCE: mdist_status = -9;
pub const MDIST_ERR_IO: mdist_status = -10;
pub const MDIST_ERR_DATA_LOSS: mdist_status = -11;
pub const MDIST_ERR_MISMATCH: mdist_status = -12;
pub const MDIST_ERR_TIMEOUT: mdist_status = -13;
pub const MDIST_ERR_PEER_LOST: mdist_status = -14;
pub const MDIST_ERR_ABORTED: mdist_status = -15;
pub const MDIST_ERR_UNAUTHENTICATED: mdist_status = -16;
pub const MDIST_ERR_CALLBACK: mdist_status = -17;
pub const MDIST_ERR_DEVICE: mdist_status = -18;
pub const MDIST_ERR_INTERNAL: mdist_status = -19;
pub const MDIST_STATUS_PIN_INT32: mdist_status = -2147483648;
#[doc = " The result of a call. 0: ok. Positive: not an error. Negative: an error."]
#[doc = ""]
#[doc = " The list is closed and its numbers never change."]
pub type mdist_status = ::std::os::raw::c_int;
#[doc = " The result of a call. 0: ok. Positive: not an error. Negative: an error."]
#[doc = ""]
#[doc = " The list is closed and its numbers never change."]
pub use self::mdist_status as mdist_status_t;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mdist_error {
    _unused: [u8; 0],
}
#[doc = " Describes one failure in full. You own it; free it with mdist_error_free."]
pub type mdist_error_t = mdist_error;
extern "C" {
    #[doc = " Returns the name of a status constant, such as \"MDIST_ERR_TIMEOUT\"; \"MDIST_ERR_?\" for an unknown number."]
    #[doc = ""]
    #[doc = " The text is static."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_status_name(status: mdist_status_t) -> *const ::std::os::raw::c_char;
}
extern "C" {
    #[doc = " Returns the status of the failed call; MDIST_OK for NULL."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_error_status(error: *const mdist_error_t) -> mdist_status_t;
}
extern "C" {
    #[doc = " Returns one English sentence with the bad value, the place, and what would be right."]
    #[doc = ""]
    #[doc = " It is borrowed from @p error. For NULL it is \"\"."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_error_message(error: *const mdist_error_t) -> *const ::std::os::raw::c_char;
}
extern "C" {
    #[doc = " Returns a stable word for programs, such as \"unknown_key\" or \"step_returned\"."]
    #[doc = ""]
    #[doc = " It is \"\" where the status says enough, and for NULL. It is borrowed from @p error."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_error_reason(error: *const mdist_error_t) -> *const ::std::os::raw::c_char;
}
extern "C" {
    #[doc = " Returns the name of the call or collective that failed, such as \"mdist_all_reduce\"."]
    #[doc = ""]
    #[doc = " It is borrowed from @p error. For NULL it is \"\"."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_error_operation(error: *const mdist_error_t) -> *const ::std::os::raw::c_char;
}
extern "C" {
    #[doc = " Returns the id of the replica at fault; MDIST_NONE if no replica is at fault, or if it is unknown."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_error_replica(error: *const mdist_error_t) -> u32;
}
extern "C" {
    #[doc = " Returns the rank of the worker at fault, from 0; MDIST_NONE if no worker is at fault, or if it is unknown."]
    #[doc = ""]
    #[doc = " That is the worker that is lost or late, or that made a different call."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_error_rank(error: *const mdist_error_t) -> u32;
}
extern "C" {
    #[doc = " Returns the underlying number; 0 if there is none."]
    #[doc = ""]
    #[doc = " That is your callback's return value, errno, or a CUDA or NCCL code."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_error_native(error: *const mdist_error_t) -> i64;
}
extern "C" {
    #[doc = " Makes your function that runs on this thread fail, or says why it is going to."]
    #[doc = ""]
    #[doc = " Your function is a step, or any other function that the library calls and that returns 0 or a number. If it fails,"]
    #[doc = " mdist_error_message contains the number and @p why, on all workers that hear of the failure. An example is \"the step"]
    #[doc = " of replica 2 returned 7: the loss is NaN at batch 41\"."]
    #[doc = ""]
    #[doc = " - It counts only for the innermost function."]
    #[doc = " - If that returns 0 and @p code is 0, the text is forgotten."]
    #[doc = " - Outside of such functions, @p code does nothing. The text belongs to the number that this thread passes next to"]
    #[doc = "   mdist_replica_exit or mdist_merge_end. mdist_replica_enter forgets earlier text."]
    #[doc = " @param code  the number with which the function fails, whatever it is going to return. It is for runtimes of other"]
    #[doc = "              languages, which can lose an exception where nothing catches it yet, or no longer does. Then nobody"]
    #[doc = "              knows what the function returns. 0: what it returns counts, even if an earlier call gave a number"]
    #[doc = " @param why   copied, at most 511 bytes. \"...\" replaces what is cut off. Bytes that are not UTF-8 are written as"]
    #[doc = "              numbers. It replaces the text of an earlier call. NULL leaves that text, \"\" takes it back"]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.3"]
    pub fn mdist_fail(code: i32, why: *const ::std::os::raw::c_char);
}
extern "C" {
    #[doc = " Frees an error. NULL is ignored."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_error_free(error: *mut mdist_error_t);
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mdist_config {
    _unused: [u8; 0],
}
pub type mdist_config_t = mdist_config;
#[doc = " Describes a key and the values that it takes. No text is NULL; all texts are constants of the library."]
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mdist_config_key {
    pub struct_size: u32,
    pub reserved: u32,
    pub name: *const ::std::os::raw::c_char,
    pub environment: *const ::std::os::raw::c_char,
    pub kind: *const ::std::os::raw::c_char,
    pub choices: *const ::std::os::raw::c_char,
    pub default_text: *const ::std::os::raw::c_char,
    pub help: *const ::std::os::raw::c_char,
}
#[test]
fn bindgen_test_layout_mdist_config_key() {
    assert_eq!(
        ::std::mem::size_of::<mdist_config_key>(),
        56usize,
        concat!("Size of: ", stringify!(mdist_config_key))
    );
    assert_eq!(
        ::std::mem::align_of::<mdist_config_key>(),
        8usize,
        concat!("Alignment of ", stringify!(mdist_config_key))
    );
    fn test_field_struct_size() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_config_key>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).struct_size) as usize - ptr as usize
            },
            0usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_config_key),
                "::",
                stringify!(struct_size)
            )
        );
    }
    test_field_struct_size();
    fn test_field_reserved() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_config_key>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).reserved) as usize - ptr as usize
            },
            4usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_config_key),
                "::",
                stringify!(reserved)
            )
        );
    }
    test_field_reserved();
    fn test_field_name() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_config_key>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).name) as usize - ptr as usize
            },
            8usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_config_key),
                "::",
                stringify!(name)
            )
        );
    }
    test_field_name();
    fn test_field_environment() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_config_key>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).environment) as usize - ptr as usize
            },
            16usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_config_key),
                "::",
                stringify!(environment)
            )
        );
    }
    test_field_environment();
    fn test_field_kind() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_config_key>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).kind) as usize - ptr as usize
            },
            24usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_config_key),
                "::",
                stringify!(kind)
            )
        );
    }
    test_field_kind();
    fn test_field_choices() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_config_key>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).choices) as usize - ptr as usize
            },
            32usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_config_key),
                "::",
                stringify!(choices)
            )
        );
    }
    test_field_choices();
    fn test_field_default_text() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_config_key>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).default_text) as usize - ptr as usize
            },
            40usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_config_key),
                "::",
                stringify!(default_text)
            )
        );
    }
    test_field_default_text();
    fn test_field_help() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_config_key>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).help) as usize - ptr as usize
            },
            48usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_config_key),
                "::",
                stringify!(help)
            )
        );
    }
    test_field_help();
}
#[doc = " Describes a key and the values that it takes. No text is NULL; all texts are constants of the library."]
pub type mdist_config_key_t = mdist_config_key;
extern "C" {
    #[doc = " Returns the number of keys."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.2"]
    pub fn mdist_config_key_count() -> usize;
}
extern "C" {
    #[doc = " Fills @p out with key @p index, in the order of docs/reference/configuration.md."]
    #[doc = ""]
    #[doc = " The caller sets struct_size, and sets all other fields to 0. If the caller is newer than the library, fields that the"]
    #[doc = " library lacks stay 0."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.2"]
    pub fn mdist_config_key_describe(
        index: usize,
        out: *mut mdist_config_key_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Makes an empty config. Every key has its default, and the environment is not read."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_config_create(
        out: *mut *mut mdist_config_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Sets one key, and checks the value at once."]
    #[doc = ""]
    #[doc = " An unknown key and a bad value are MDIST_ERR_CONFIG and leave the config as it was. The message for an unknown key"]
    #[doc = " names the most similar key. The message for a bad value says what the key takes."]
    #[doc = " @thread one at a time per config   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_config_set(
        config: *mut mdist_config_t,
        key: *const ::std::os::raw::c_char,
        value: *const ::std::os::raw::c_char,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Reads the value of a key as text. If the key is not set, it reads the default."]
    #[doc = " @param text    receives at most @p capacity bytes, NUL included; a longer text is cut off"]
    #[doc = " @param needed  receives the full size in bytes, NUL included; may be NULL"]
    #[doc = " @thread one at a time per config   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_config_get(
        config: *const mdist_config_t,
        key: *const ::std::os::raw::c_char,
        text: *mut ::std::os::raw::c_char,
        capacity: usize,
        needed: *mut usize,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Loads a YAML file, a regular file of at most 64 KiB."]
    #[doc = ""]
    #[doc = " It loads all of the file or, on an error, nothing. The message of an error has line and column."]
    #[doc = " @thread one at a time per config   @blocks on the file   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_config_load(
        config: *mut mdist_config_t,
        yaml_path: *const ::std::os::raw::c_char,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Loads YAML from memory, as mdist_config_load does from a file."]
    #[doc = " @thread one at a time per config   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_config_load_text(
        config: *mut mdist_config_t,
        yaml: *const ::std::os::raw::c_char,
        length: usize,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Loads settings from the environment: first the file that MDIST_CONFIG names, then every `MDIST_*` key over it."]
    #[doc = ""]
    #[doc = " An unknown `MDIST_*` variable is a warning in the log and not an error, because it may belong to another program."]
    #[doc = " @thread one at a time per config   @blocks on the file   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_config_load_environment(
        config: *mut mdist_config_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Frees a config. NULL is fine."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_config_destroy(config: *mut mdist_config_t);
}
pub const MDIST_DTYPE_NONE: mdist_dtype = 0;
pub const MDIST_FLOAT32: mdist_dtype = 1;
pub const MDIST_FLOAT64: mdist_dtype = 2;
pub const MDIST_FLOAT16: mdist_dtype = 3;
pub const MDIST_BFLOAT16: mdist_dtype = 4;
pub const MDIST_INT8: mdist_dtype = 5;
pub const MDIST_UINT8: mdist_dtype = 6;
pub const MDIST_INT32: mdist_dtype = 7;
pub const MDIST_UINT32: mdist_dtype = 8;
pub const MDIST_INT64: mdist_dtype = 9;
pub const MDIST_UINT64: mdist_dtype = 10;
pub const MDIST_INT16: mdist_dtype = 11;
pub const MDIST_UINT16: mdist_dtype = 12;
pub const MDIST_BOOL: mdist_dtype = 13;
pub const MDIST_DTYPE_PIN_INT32: mdist_dtype = -2147483648;
#[doc = " Element types. 0 is none of them, so that the library notices a forgotten field."]
pub type mdist_dtype = ::std::os::raw::c_int;
#[doc = " Element types. 0 is none of them, so that the library notices a forgotten field."]
pub use self::mdist_dtype as mdist_dtype_t;
pub const MDIST_DEVICE_CPU: mdist_device_kind = 0;
pub const MDIST_DEVICE_GPU: mdist_device_kind = 1;
pub const MDIST_DEVICE_PIN_INT32: mdist_device_kind = -2147483648;
#[doc = " The kind of device that memory lies on."]
pub type mdist_device_kind = ::std::os::raw::c_int;
#[doc = " The kind of device that memory lies on."]
pub use self::mdist_device_kind as mdist_device_kind_t;
#[doc = " A run of elements of one type. It may start at any address; 64-byte aligned addresses are fastest."]
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mdist_buffer {
    pub data: *mut ::std::os::raw::c_void,
    pub elements: u64,
    pub dtype: i32,
    pub reserved: i32,
}
#[test]
fn bindgen_test_layout_mdist_buffer() {
    assert_eq!(
        ::std::mem::size_of::<mdist_buffer>(),
        24usize,
        concat!("Size of: ", stringify!(mdist_buffer))
    );
    assert_eq!(
        ::std::mem::align_of::<mdist_buffer>(),
        8usize,
        concat!("Alignment of ", stringify!(mdist_buffer))
    );
    fn test_field_data() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_buffer>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).data) as usize - ptr as usize
            },
            0usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_buffer),
                "::",
                stringify!(data)
            )
        );
    }
    test_field_data();
    fn test_field_elements() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_buffer>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).elements) as usize - ptr as usize
            },
            8usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_buffer),
                "::",
                stringify!(elements)
            )
        );
    }
    test_field_elements();
    fn test_field_dtype() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_buffer>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).dtype) as usize - ptr as usize
            },
            16usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_buffer),
                "::",
                stringify!(dtype)
            )
        );
    }
    test_field_dtype();
    fn test_field_reserved() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_buffer>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).reserved) as usize - ptr as usize
            },
            20usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_buffer),
                "::",
                stringify!(reserved)
            )
        );
    }
    test_field_reserved();
}
#[doc = " A run of elements of one type. It may start at any address; 64-byte aligned addresses are fastest."]
pub type mdist_buffer_t = mdist_buffer;
#[doc = " A dense array of 0 (a scalar) to MDIST_MAX_RANK dimensions."]
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mdist_tensor {
    pub data: *mut ::std::os::raw::c_void,
    pub dtype: i32,
    pub rank: i32,
    pub device_kind: i32,
    pub device_index: i32,
    pub shape: [u64; 8usize],
}
#[test]
fn bindgen_test_layout_mdist_tensor() {
    assert_eq!(
        ::std::mem::size_of::<mdist_tensor>(),
        88usize,
        concat!("Size of: ", stringify!(mdist_tensor))
    );
    assert_eq!(
        ::std::mem::align_of::<mdist_tensor>(),
        8usize,
        concat!("Alignment of ", stringify!(mdist_tensor))
    );
    fn test_field_data() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_tensor>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).data) as usize - ptr as usize
            },
            0usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_tensor),
                "::",
                stringify!(data)
            )
        );
    }
    test_field_data();
    fn test_field_dtype() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_tensor>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).dtype) as usize - ptr as usize
            },
            8usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_tensor),
                "::",
                stringify!(dtype)
            )
        );
    }
    test_field_dtype();
    fn test_field_rank() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_tensor>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).rank) as usize - ptr as usize
            },
            12usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_tensor),
                "::",
                stringify!(rank)
            )
        );
    }
    test_field_rank();
    fn test_field_device_kind() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_tensor>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).device_kind) as usize - ptr as usize
            },
            16usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_tensor),
                "::",
                stringify!(device_kind)
            )
        );
    }
    test_field_device_kind();
    fn test_field_device_index() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_tensor>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).device_index) as usize - ptr as usize
            },
            20usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_tensor),
                "::",
                stringify!(device_index)
            )
        );
    }
    test_field_device_index();
    fn test_field_shape() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_tensor>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).shape) as usize - ptr as usize
            },
            24usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_tensor),
                "::",
                stringify!(shape)
            )
        );
    }
    test_field_shape();
}
#[doc = " A dense array of 0 (a scalar) to MDIST_MAX_RANK dimensions."]
pub type mdist_tensor_t = mdist_tensor;
extern "C" {
    #[doc = " Returns the size of one element in bytes; 0 for a number that is no type."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_dtype_size(dtype: mdist_dtype_t) -> usize;
}
extern "C" {
    #[doc = " Returns the name of a type, such as \"float32\" or \"bfloat16\"; \"?\" for a number that is no type."]
    #[doc = ""]
    #[doc = " The text is static."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_dtype_name(dtype: mdist_dtype_t) -> *const ::std::os::raw::c_char;
}
extern "C" {
    #[doc = " Fills @p out with a description of the memory at @p data, on the host or on a GPU. The library finds out which."]
    #[doc = ""]
    #[doc = " It checks the type, the rank, and that the size in bytes fits. Without data the first dimension may be"]
    #[doc = " MDIST_UNKNOWN_LENGTH, for mdist_dataset_map."]
    #[doc = " @param data   may be NULL: to be filled in later, or zeros where a function says so. Cast away const for memory that"]
    #[doc = "               is only read."]
    #[doc = " @param shape  @p rank dimensions; may be NULL for a scalar"]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_tensor_describe(
        data: *mut ::std::os::raw::c_void,
        dtype: mdist_dtype_t,
        shape: *const u64,
        rank: usize,
        out: *mut mdist_tensor_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Returns the number of elements, the product of the dimensions (1 for a scalar)."]
    #[doc = ""]
    #[doc = " It returns 0 for NULL and for a tensor that mdist_tensor_describe would refuse."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_tensor_elements(tensor: *const mdist_tensor_t) -> u64;
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mdist_value {
    _unused: [u8; 0],
}
pub type mdist_value_t = mdist_value;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mdist_strategy {
    _unused: [u8; 0],
}
pub type mdist_strategy_t = mdist_strategy;
pub const MDIST_VALUE_NONE: mdist_value_kind = 0;
pub const MDIST_VALUE_PLAIN: mdist_value_kind = 1;
pub const MDIST_VALUE_MIRRORED: mdist_value_kind = 2;
pub const MDIST_VALUE_PER_REPLICA: mdist_value_kind = 3;
pub const MDIST_VALUE_STRUCTURE: mdist_value_kind = 4;
pub const MDIST_VALUE_PIN_INT32: mdist_value_kind = -2147483648;
pub type mdist_value_kind = ::std::os::raw::c_int;
pub use self::mdist_value_kind as mdist_value_kind_t;
extern "C" {
    #[doc = " Makes a plain value with a copy of @p tensor, on the device where the tensor lies."]
    #[doc = ""]
    #[doc = " The host and GPUs both work. If the tensor's data is NULL, the value holds zeros."]
    #[doc = " @thread any   @blocks for the copy, on GPUs   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_value_create(
        tensor: *const mdist_tensor_t,
        out: *mut *mut mdist_value_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Makes a plain value around the caller's own memory (kept, not copied)."]
    #[doc = ""]
    #[doc = " The memory must stay valid and unchanged until @p free_user_data runs. If @p free_user_data is NULL, it must stay so"]
    #[doc = " for as long as anything may read the value."]
    #[doc = " @thread any   @blocks no   @collective no"]
    #[doc = " @calls-back free_user_data, on the thread that drops the last reference   @since 0.1"]
    pub fn mdist_value_wrap(
        tensor: *const mdist_tensor_t,
        user_data: *mut ::std::os::raw::c_void,
        free_user_data: mdist_free_fn,
        out: *mut *mut mdist_value_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Makes a per-replica value with copies of @p tensors, one for each local replica in order."]
    #[doc = ""]
    #[doc = " Each copy lies on its replica's device; the tensors may come from anywhere. All have one dtype."]
    #[doc = " @param count  must be the number of local replicas"]
    #[doc = " @thread any   @blocks for the copies, on GPUs   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_value_per_replica(
        strategy: *mut mdist_strategy_t,
        tensors: *const mdist_tensor_t,
        count: usize,
        out: *mut *mut mdist_value_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Makes a mirrored value with a copy of a plain value on every local device."]
    #[doc = ""]
    #[doc = " A structure is mirrored leaf by leaf. Leaves that are mirrored already are shared. A per-replica leaf is"]
    #[doc = " MDIST_ERR_INVALID_ARGUMENT, because its replicas have different contents. (mdist_strategy_broadcast does this for one"]
    #[doc = " tensor.)"]
    #[doc = " @thread any   @blocks for the copies, on GPUs   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_value_mirrored(
        strategy: *mut mdist_strategy_t,
        value: *const mdist_value_t,
        out: *mut *mut mdist_value_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Returns the kind of a value; MDIST_VALUE_NONE for a bad handle."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_value_kind(value: *const mdist_value_t) -> mdist_value_kind_t;
}
extern "C" {
    #[doc = " Returns the number of tensors: 1 for a plain value, 0 for a structure or a bad handle, else the number of local"]
    #[doc = " replicas."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_value_count(value: *const mdist_value_t) -> usize;
}
extern "C" {
    #[doc = " Describes tensor @p index of a value that is no structure."]
    #[doc = ""]
    #[doc = " device_kind says where the tensor lies. Its memory is borrowed until the value is destroyed. Only read it."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_value_tensor(
        value: *const mdist_value_t,
        index: usize,
        out: *mut mdist_tensor_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Makes a structure of @p count leaves at @p paths."]
    #[doc = ""]
    #[doc = " - The structure shares the tensors of the leaves. Their handles stay yours."]
    #[doc = " - A leaf that is a structure itself brings its own leaves, below its path."]
    #[doc = " - The order of the arguments does not matter: leaves are sorted by path, positions by number."]
    #[doc = " - No leaves is fine. One leaf with the path \"\" gives that value itself."]
    #[doc = " - MDIST_ERR_INVALID_ARGUMENT names the path that does not fit."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_value_structure(
        paths: *const *const ::std::os::raw::c_char,
        leaves: *const *mut mdist_value_t,
        count: usize,
        out: *mut *mut mdist_value_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Returns the number of leaves of a structure; 1 for any other value, 0 for a bad handle."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_value_leaf_count(value: *const mdist_value_t) -> usize;
}
extern "C" {
    #[doc = " Returns the path of leaf @p index, borrowed until the value is destroyed."]
    #[doc = ""]
    #[doc = " It returns \"\" for a value that is no structure, for an index out of range, and for a bad handle."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_value_leaf_path(
        value: *const mdist_value_t,
        index: usize,
    ) -> *const ::std::os::raw::c_char;
}
extern "C" {
    #[doc = " Gives the leaf at @p path, or the structure below it."]
    #[doc = ""]
    #[doc = " For \"grads.0\" and \"grads.1\", the path \"grads\" gives a structure with the paths \"0\" and \"1\". The path \"\" gives the"]
    #[doc = " whole value. The result shares the tensors and outlives @p value. MDIST_ERR_NOT_FOUND lists the paths there are."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_value_at(
        value: *const mdist_value_t,
        path: *const ::std::os::raw::c_char,
        out: *mut *mut mdist_value_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
#[doc = " Makes the value of replica @p replica_id of @p replica_count."]
#[doc = ""]
#[doc = " It sets @p out to a plain value, or a structure of plain values, that it makes and hands over, even if it fails. It"]
#[doc = " returns 0, or any other number to fail the call; mdist_error_native then gives the number."]
pub type mdist_value_fn = ::std::option::Option<
    unsafe extern "C" fn(
        replica_id: u32,
        replica_count: u32,
        out: *mut *mut mdist_value_t,
        user_data: *mut ::std::os::raw::c_void,
    ) -> i32,
>;
extern "C" {
    #[doc = " Calls @p function for each local replica, one after another, and regroups the results."]
    #[doc = ""]
    #[doc = " The result is a per-replica value, even with one replica, or a structure of such values. It shares the tensors. Paths"]
    #[doc = " and dtypes must be the same for all replicas, else MDIST_ERR_MISMATCH. (TensorFlow:"]
    #[doc = " Strategy.experimental_distribute_values_from_function.)"]
    #[doc = " @thread any, in cross-replica context   @blocks until the last call has returned   @collective no"]
    #[doc = " @calls-back function, on this thread   @since 0.1"]
    pub fn mdist_values_from_function(
        strategy: *mut mdist_strategy_t,
        function: mdist_value_fn,
        user_data: *mut ::std::os::raw::c_void,
        out: *mut *mut mdist_value_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Makes a value of rows: some rows of a larger tensor, with their indices."]
    #[doc = ""]
    #[doc = " Tensor i of @p values holds rows (slices along its first dimension). Tensor i of @p indices, int64 and as long as"]
    #[doc = " that dimension, says which rows of the larger tensor they are. They come in any order, and an index may come twice."]
    #[doc = " Both values are of one kind."]
    #[doc = ""]
    #[doc = " mdist_strategy_reduce, mdist_strategy_reduce_to and mdist_variable_assign take rows. Other functions return"]
    #[doc = " MDIST_ERR_UNSUPPORTED for them. (TensorFlow: IndexedSlices.)"]
    #[doc = " @param out  shares the tensors of @p indices and @p values; both may be destroyed"]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_value_sparse(
        indices: *const mdist_value_t,
        values: *const mdist_value_t,
        out: *mut *mut mdist_value_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Describes the indices that belong to tensor @p index of a value of rows."]
    #[doc = ""]
    #[doc = " mdist_value_tensor gives the rows themselves. For a value of whole tensors, data is NULL and dtype 0. The memory is"]
    #[doc = " borrowed until the value is destroyed. Only read it."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_value_indices(
        value: *const mdist_value_t,
        index: usize,
        out: *mut mdist_tensor_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Frees a value. NULL is ignored."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back as mdist_value_wrap and dlpack.h say   @since 0.1"]
    pub fn mdist_value_destroy(value: *mut mdist_value_t);
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mdist_replica {
    _unused: [u8; 0],
}
#[doc = " A replica inside its step. The handle dies when the step returns, or with mdist_replica_exit."]
pub type mdist_replica_t = mdist_replica;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mdist_group {
    _unused: [u8; 0],
}
#[doc = " Some replicas with collectives of their own (<mdist/group.h>)."]
pub type mdist_group_t = mdist_group;
pub const MDIST_IMPLEMENTATION_AUTO: mdist_implementation = 0;
pub const MDIST_IMPLEMENTATION_RING: mdist_implementation = 1;
pub const MDIST_IMPLEMENTATION_NCCL: mdist_implementation = 2;
pub const MDIST_IMPLEMENTATION_PIN_INT32: mdist_implementation = -2147483648;
#[doc = " The implementation that moves the bytes of one call."]
pub type mdist_implementation = ::std::os::raw::c_int;
#[doc = " The implementation that moves the bytes of one call."]
pub use self::mdist_implementation as mdist_implementation_t;
#[doc = " Options of one call. NULL, or all fields but struct_size zero: the strategy's defaults. (TensorFlow:"]
#[doc = " CommunicationOptions.)"]
#[doc = ""]
#[doc = " @p timeout_ns limits the time without progress of the workers that the call waits for. A worker makes progress when"]
#[doc = " the first message of its call comes, and then with each whole message or whole 1 MiB of a longer one; fewer bytes do"]
#[doc = " not count. So a call may take many times its limit while bytes move, and a connection that needs longer than the"]
#[doc = " limit for 1 MiB fails. Among the replicas of one process, and in NCCL, the limit is for the whole wait."]
#[doc = " `communication.call_timeout` limits an operation as a whole."]
#[doc = ""]
#[doc = " Packs cut a reduction of many buffers or values into several operations, one after another."]
#[doc = " - A pack takes buffers of one dtype, in the order of the call, until it is larger than @p bytes_per_pack."]
#[doc = " - The result has the same bits with and without packs."]
#[doc = " - The library compares each operation with those of the other replicas."]
#[doc = " - Each operation has the whole timeout. If one fails, those before it are done."]
#[doc = " - These calls take packs: mdist_all_reduce, mdist_strategy_all_reduce, mdist_strategy_reduce without axes, and"]
#[doc = "   mdist_strategy_reduce_to. mdist_collective_start refuses them. Other calls do not use them."]
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mdist_call_options {
    pub struct_size: u32,
    pub flags: u32,
    pub timeout_ns: u64,
    pub bytes_per_pack: i64,
    pub implementation: i32,
    pub reserved: u32,
    pub group: *const mdist_group_t,
}
#[test]
fn bindgen_test_layout_mdist_call_options() {
    assert_eq!(
        ::std::mem::size_of::<mdist_call_options>(),
        40usize,
        concat!("Size of: ", stringify!(mdist_call_options))
    );
    assert_eq!(
        ::std::mem::align_of::<mdist_call_options>(),
        8usize,
        concat!("Alignment of ", stringify!(mdist_call_options))
    );
    fn test_field_struct_size() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_call_options>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).struct_size) as usize - ptr as usize
            },
            0usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_call_options),
                "::",
                stringify!(struct_size)
            )
        );
    }
    test_field_struct_size();
    fn test_field_flags() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_call_options>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).flags) as usize - ptr as usize
            },
            4usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_call_options),
                "::",
                stringify!(flags)
            )
        );
    }
    test_field_flags();
    fn test_field_timeout_ns() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_call_options>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).timeout_ns) as usize - ptr as usize
            },
            8usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_call_options),
                "::",
                stringify!(timeout_ns)
            )
        );
    }
    test_field_timeout_ns();
    fn test_field_bytes_per_pack() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_call_options>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).bytes_per_pack) as usize - ptr as usize
            },
            16usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_call_options),
                "::",
                stringify!(bytes_per_pack)
            )
        );
    }
    test_field_bytes_per_pack();
    fn test_field_implementation() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_call_options>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).implementation) as usize - ptr as usize
            },
            24usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_call_options),
                "::",
                stringify!(implementation)
            )
        );
    }
    test_field_implementation();
    fn test_field_reserved() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_call_options>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).reserved) as usize - ptr as usize
            },
            28usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_call_options),
                "::",
                stringify!(reserved)
            )
        );
    }
    test_field_reserved();
    fn test_field_group() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_call_options>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).group) as usize - ptr as usize
            },
            32usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_call_options),
                "::",
                stringify!(group)
            )
        );
    }
    test_field_group();
}
#[doc = " Options of one call. NULL, or all fields but struct_size zero: the strategy's defaults. (TensorFlow:"]
#[doc = " CommunicationOptions.)"]
#[doc = ""]
#[doc = " @p timeout_ns limits the time without progress of the workers that the call waits for. A worker makes progress when"]
#[doc = " the first message of its call comes, and then with each whole message or whole 1 MiB of a longer one; fewer bytes do"]
#[doc = " not count. So a call may take many times its limit while bytes move, and a connection that needs longer than the"]
#[doc = " limit for 1 MiB fails. Among the replicas of one process, and in NCCL, the limit is for the whole wait."]
#[doc = " `communication.call_timeout` limits an operation as a whole."]
#[doc = ""]
#[doc = " Packs cut a reduction of many buffers or values into several operations, one after another."]
#[doc = " - A pack takes buffers of one dtype, in the order of the call, until it is larger than @p bytes_per_pack."]
#[doc = " - The result has the same bits with and without packs."]
#[doc = " - The library compares each operation with those of the other replicas."]
#[doc = " - Each operation has the whole timeout. If one fails, those before it are done."]
#[doc = " - These calls take packs: mdist_all_reduce, mdist_strategy_all_reduce, mdist_strategy_reduce without axes, and"]
#[doc = "   mdist_strategy_reduce_to. mdist_collective_start refuses them. Other calls do not use them."]
pub type mdist_call_options_t = mdist_call_options;
extern "C" {
    #[doc = " Creates a strategy from @p config, or from the environment if @p config is NULL."]
    #[doc = ""]
    #[doc = " The replicas' threads start here. `log.level` takes effect here, if it is set."]
    #[doc = ""]
    #[doc = " If the configuration names other workers, the workers meet in this call. It returns when all have come. A worker"]
    #[doc = " that is refused fails at once; the others wait for the right one until `communication.join_timeout`."]
    #[doc = " (docs/reference/clusters.md says how to name workers. A config that you made looks at the environment only if"]
    #[doc = " mdist_config_load_environment loaded it. If it did not, and names no other workers, workers that the environment"]
    #[doc = " tells of would each train alone: after `mdist launch` that is MDIST_ERR_CONFIG, reason `unread`, and a warning after"]
    #[doc = " other launchers. The key `strategy: mirrored`, or MDIST_BOOTSTRAP=single, says that it is meant.)"]
    #[doc = ""]
    #[doc = " - MDIST_ERR_TIMEOUT: some workers did not come within `communication.join_timeout`; the message names them"]
    #[doc = " - MDIST_ERR_CONFIG: workers have different configurations or different numbers of replicas, or belong to two runs"]
    #[doc = "   (`different_run`)"]
    #[doc = " - MDIST_ERR_UNAUTHENTICATED: this worker has no secret, or not the job's; or the job has none, is elastic, and takes"]
    #[doc = "   nobody any more (`closed`)"]
    #[doc = " - MDIST_ERR_FAILED_PRECONDITION, reasons `duplicate_rank` and `stale_session`: another process has this rank, or the"]
    #[doc = "   job has been started again without this worker"]
    #[doc = " - MDIST_ERR_NOT_FOUND, reason `name_resolution`; MDIST_ERR_RESOURCE, reason `address_in_use`: the address where the"]
    #[doc = "   workers meet is unknown, or taken"]
    #[doc = " - MDIST_ERR_UNSUPPORTED: the config names devices that this build or host lacks; the message says why. The library"]
    #[doc = "   never falls back to fewer devices silently."]
    #[doc = ""]
    #[doc = " (TensorFlow: MirroredStrategy, MultiWorkerMirroredStrategy.)"]
    #[doc = " @thread any   @blocks for the other workers, and on the config file if NULL   @collective all workers"]
    #[doc = " @calls-back never   @since 0.1"]
    pub fn mdist_strategy_create(
        config: *const mdist_config_t,
        out: *mut *mut mdist_strategy_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Ends all collectives of the strategy, on all workers."]
    #[doc = ""]
    #[doc = " - Waiting calls return MDIST_ERR_ABORTED now. Later runs, collectives, reductions and gathers return it at once, as"]
    #[doc = "   after a timeout."]
    #[doc = " - Variables, values and datasets keep working, so that you can save them."]
    #[doc = " - Steps run on to their own end."]
    #[doc = " - A bad handle is ignored."]
    #[doc = " - The function takes a lock: do not call it in a signal handler."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_strategy_abort(strategy: *mut mdist_strategy_t);
}
extern "C" {
    #[doc = " Returns MDIST_OK while collectives can go on, else the error that ended them."]
    #[doc = ""]
    #[doc = " That error is the one that the first failed call got: MDIST_ERR_PEER_LOST with mdist_error_rank, MDIST_ERR_TIMEOUT,"]
    #[doc = " MDIST_ERR_ABORTED ... The function only reads what this worker knows. Workers exchange heartbeats all the time"]
    #[doc = " (`communication.heartbeat_timeout`), so a lost worker shows up here without any collective. (TensorFlow:"]
    #[doc = " check_health.)"]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_strategy_check_health(
        strategy: *const mdist_strategy_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Destroys the strategy without waiting for anything."]
    #[doc = ""]
    #[doc = " Calls under way in other threads are aborted and finish; the last of them frees the rest. You may destroy variables,"]
    #[doc = " values and datasets before or after the strategy. NULL is ignored."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_strategy_destroy(strategy: *mut mdist_strategy_t);
}
extern "C" {
    #[doc = " Returns the number of replicas in the whole job (TensorFlow: num_replicas_in_sync); 0 for a bad handle."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_strategy_replica_count(strategy: *const mdist_strategy_t) -> u32;
}
extern "C" {
    #[doc = " Returns the number of replicas on this worker; 0 for a bad handle."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_strategy_local_replica_count(strategy: *const mdist_strategy_t) -> u32;
}
extern "C" {
    #[doc = " Returns the number of workers in the job: 1 for a worker that is alone, and for an evaluator; 0 for a bad handle."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_strategy_worker_count(strategy: *const mdist_strategy_t) -> u32;
}
extern "C" {
    #[doc = " Returns this worker's rank, from 0; MDIST_NONE for a bad handle."]
    #[doc = ""]
    #[doc = " mdist_strategy_first_replica_id says where its replica ids begin."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_strategy_rank(strategy: *const mdist_strategy_t) -> u32;
}
extern "C" {
    #[doc = " Returns the replica id of this worker's first local replica; MDIST_NONE for a bad handle."]
    #[doc = ""]
    #[doc = " Local replica i has this id plus i. In an elastic job it changes with mdist_regroup."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.3"]
    pub fn mdist_strategy_first_replica_id(strategy: *const mdist_strategy_t) -> u32;
}
extern "C" {
    #[doc = " Returns 1 on the one worker that does what is done once per job, else 0."]
    #[doc = ""]
    #[doc = " That worker writes checkpoints and summaries, and prints (TensorFlow: should_checkpoint, should_save_summary). It is"]
    #[doc = " rank 0, the chief. A worker that is alone, and an evaluator, get 1 too. A bad handle gives 0."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_strategy_is_chief(strategy: *const mdist_strategy_t) -> i32;
}
extern "C" {
    #[doc = " Writes the name of a local replica's device (\"cpu:1\")."]
    #[doc = ""]
    #[doc = " text, capacity and needed work as in mdist_config_get."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_strategy_device(
        strategy: *const mdist_strategy_t,
        local_replica: u32,
        text: *mut ::std::os::raw::c_char,
        capacity: usize,
        needed: *mut usize,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
#[doc = " What goes into a run and comes out of it. NULL: nothing, and the strategy's limits. (mdist_run, mdist_map,"]
#[doc = " mdist_run_named, mdist_run_begin, mdist_update, mdist_update_devices, mdist_update_named.)"]
#[doc = ""]
#[doc = " @p results receives values that you own, also those that are NULL because nobody set them. They stay untouched if the"]
#[doc = " call fails."]
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mdist_run_io {
    pub struct_size: u32,
    pub flags: u32,
    pub arguments: *const *mut mdist_value_t,
    pub argument_count: usize,
    pub results: *mut *mut mdist_value_t,
    pub result_count: usize,
    pub timeout_ns: u64,
}
#[test]
fn bindgen_test_layout_mdist_run_io() {
    assert_eq!(
        ::std::mem::size_of::<mdist_run_io>(),
        48usize,
        concat!("Size of: ", stringify!(mdist_run_io))
    );
    assert_eq!(
        ::std::mem::align_of::<mdist_run_io>(),
        8usize,
        concat!("Alignment of ", stringify!(mdist_run_io))
    );
    fn test_field_struct_size() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_run_io>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).struct_size) as usize - ptr as usize
            },
            0usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_run_io),
                "::",
                stringify!(struct_size)
            )
        );
    }
    test_field_struct_size();
    fn test_field_flags() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_run_io>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).flags) as usize - ptr as usize
            },
            4usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_run_io),
                "::",
                stringify!(flags)
            )
        );
    }
    test_field_flags();
    fn test_field_arguments() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_run_io>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).arguments) as usize - ptr as usize
            },
            8usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_run_io),
                "::",
                stringify!(arguments)
            )
        );
    }
    test_field_arguments();
    fn test_field_argument_count() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_run_io>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).argument_count) as usize - ptr as usize
            },
            16usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_run_io),
                "::",
                stringify!(argument_count)
            )
        );
    }
    test_field_argument_count();
    fn test_field_results() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_run_io>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).results) as usize - ptr as usize
            },
            24usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_run_io),
                "::",
                stringify!(results)
            )
        );
    }
    test_field_results();
    fn test_field_result_count() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_run_io>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).result_count) as usize - ptr as usize
            },
            32usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_run_io),
                "::",
                stringify!(result_count)
            )
        );
    }
    test_field_result_count();
    fn test_field_timeout_ns() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_run_io>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).timeout_ns) as usize - ptr as usize
            },
            40usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_run_io),
                "::",
                stringify!(timeout_ns)
            )
        );
    }
    test_field_timeout_ns();
}
#[doc = " What goes into a run and comes out of it. NULL: nothing, and the strategy's limits. (mdist_run, mdist_map,"]
#[doc = " mdist_run_named, mdist_run_begin, mdist_update, mdist_update_devices, mdist_update_named.)"]
#[doc = ""]
#[doc = " @p results receives values that you own, also those that are NULL because nobody set them. They stay untouched if the"]
#[doc = " call fails."]
pub type mdist_run_io_t = mdist_run_io;
#[doc = " Your computation. The library calls it once per local replica."]
#[doc = ""]
#[doc = " It returns 0, or any other number to fail the run. If that was the first cause, mdist_error_native gives the number."]
#[doc = " It may call any function of replica context."]
#[doc = ""]
#[doc = " - `executor: threads`: all replicas run at the same time. Local replica 0 runs on the thread that called mdist_run,"]
#[doc = "   the others on threads of the library."]
#[doc = " - `executor: caller`: the replicas run one after another on the calling thread. With more than one replica, calls"]
#[doc = "   that wait for other replicas are MDIST_ERR_FAILED_PRECONDITION, reason `executor_caller`. Such calls are"]
#[doc = "   collectives, merges, creating a variable, and assigning to a variable that is aggregated."]
pub type mdist_step_fn = ::std::option::Option<
    unsafe extern "C" fn(
        replica: *mut mdist_replica_t,
        user_data: *mut ::std::os::raw::c_void,
    ) -> i32,
>;
extern "C" {
    #[doc = " Runs @p step on every local replica and returns when all have returned."]
    #[doc = ""]
    #[doc = " If steps fail, this call returns the first failure: a step that returned non-zero, threw or ended its thread, or a"]
    #[doc = " collective in it that failed. A failure releases all replicas that wait in a collective. It never interrupts your"]
    #[doc = " code."]
    #[doc = " - One worker: you can use the strategy again, unless a collective ended by timeout or abort."]
    #[doc = " - Several workers: a failed run ends the job's collectives on all of them, since they may have come to different"]
    #[doc = "   places. The others get MDIST_ERR_ABORTED with the same message. To go on, all workers create a new strategy."]
    #[doc = " - But if all replicas of all workers refuse the same call in which they would wait for each other, for a wrong"]
    #[doc = "   argument or name, only this run fails. Each call returns its own error when the others have come. The same goes for"]
    #[doc = "   a merge that fails on all workers after they have refused the same call in it. The step must have no started"]
    #[doc = "   operation and no round of gradients under way, and the run must have had no messages."]
    #[doc = ""]
    #[doc = " Called inside a merge (mdist_merge_call), it runs a nested step on the same replicas."]
    #[doc = " - MDIST_ERR_WRONG_CONTEXT: called in a step"]
    #[doc = " - MDIST_ERR_FAILED_PRECONDITION: another thread is running this strategy"]
    #[doc = ""]
    #[doc = " @param io  Its results are per-replica values, in every job; NULL for one that no replica set. If only some set it:"]
    #[doc = "            MDIST_ERR_MISMATCH. A result that was set at paths is a structure; every replica must set the same paths."]
    #[doc = " @thread one at a time per strategy   @blocks until every step has returned"]
    #[doc = " @collective no; the first run of an elastic job makes a commit: all workers"]
    #[doc = " @calls-back step, as its type says; in that commit: the blobs' save functions   @since 0.1"]
    pub fn mdist_run(
        strategy: *mut mdist_strategy_t,
        step: mdist_step_fn,
        user_data: *mut ::std::os::raw::c_void,
        io: *const mdist_run_io_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
#[doc = " Computes element @p element of mdist_map, in the step of the replica that got it."]
#[doc = ""]
#[doc = " It reads arguments and sets results as a step does, the same results for every element. The handle dies with the"]
#[doc = " call. It returns 0, or any other number to fail the run."]
pub type mdist_element_fn = ::std::option::Option<
    unsafe extern "C" fn(
        replica: *mut mdist_replica_t,
        element: u64,
        user_data: *mut ::std::os::raw::c_void,
    ) -> i32,
>;
extern "C" {
    #[doc = " Calls @p function for elements 0 to @p count - 1, element i on replica i mod mdist_strategy_replica_count."]
    #[doc = ""]
    #[doc = " All replicas of the job run at the same time, each one element after another. An element is a number. The function"]
    #[doc = " decides what it stands for, for example a row of an argument."]
    #[doc = ""]
    #[doc = " Results are stacked along a new first axis, one row per element of a replica. So mdist_strategy_reduce over axis 0"]
    #[doc = " takes all elements together: MEAN divides by @p count. (TensorFlow: DistributionStrategy.map and its MapOutput.)"]
    #[doc = ""]
    #[doc = " @p function must not call collectives or merges, because replicas have different numbers of elements."]
    #[doc = " @param count  the same on all workers; if there are results, large enough to give every worker an element"]
    #[doc = " @param io     Arguments are plain and mirrored values only, since an element must not depend on its replica. Results"]
    #[doc = "               are as in mdist_run, stacked; no rows for a replica without elements. Elements of different types,"]
    #[doc = "               shapes or paths are MDIST_ERR_MISMATCH."]
    #[doc = " @thread one at a time per strategy   @blocks until the last element is done   @collective no"]
    #[doc = " @calls-back function, as a step of mdist_run   @since 0.1"]
    pub fn mdist_map(
        strategy: *mut mdist_strategy_t,
        count: u64,
        function: mdist_element_fn,
        user_data: *mut ::std::os::raw::c_void,
        io: *const mdist_run_io_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Returns the replica id, 0 to mdist_replica_count - 1 over the whole job; MDIST_NONE for a bad handle."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_replica_id(replica: *const mdist_replica_t) -> u32;
}
extern "C" {
    #[doc = " Returns the replica's index among this worker's replicas; MDIST_NONE for a bad handle."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_replica_local_index(replica: *const mdist_replica_t) -> u32;
}
extern "C" {
    #[doc = " Returns the number of replicas in the whole job; 0 for a bad handle."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_replica_count(replica: *const mdist_replica_t) -> u32;
}
extern "C" {
    #[doc = " Describes this replica's tensor of argument @p index of the run."]
    #[doc = ""]
    #[doc = " The tensor lies where the value has it: on the host, or on the replica's own GPU (device_kind says which). If the"]
    #[doc = " value has it on another GPU, this gives a copy on the replica's device, made once per run. It is borrowed until the"]
    #[doc = " step returns, or longer if it is the value's and the value lives longer. Only read it."]
    #[doc = " @param path  the path of a leaf (\"grads.0\"), if the argument is a structure (value.h); else NULL or \"\". For a path"]
    #[doc = "              that does not exist the error is MDIST_ERR_NOT_FOUND, and its message lists the paths there are."]
    #[doc = " @thread replica   @blocks for a copy from another GPU   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_replica_argument(
        replica: *mut mdist_replica_t,
        index: usize,
        path: *const ::std::os::raw::c_char,
        out: *mut mdist_tensor_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Sets this replica's part of result @p index of the run to a copy of @p tensor."]
    #[doc = ""]
    #[doc = " The last call for a path counts. The paths that a step sets must form a structure, the same on every replica. The"]
    #[doc = " library checks this when all steps have returned."]
    #[doc = " @param path  the path of the leaf to set, if the result is a structure (value.h); else NULL or \"\""]
    #[doc = " @thread replica   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_replica_set_result(
        replica: *mut mdist_replica_t,
        index: usize,
        path: *const ::std::os::raw::c_char,
        tensor: *const mdist_tensor_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
#[doc = " Runs once for all local replicas, in cross-replica context, on the thread of local replica 0."]
#[doc = ""]
#[doc = " - @p arguments are the replicas' tensors, regrouped. They die with the call."]
#[doc = " - Each result set in @p results is a value that the function made and hands over, even if the function fails. A"]
#[doc = "   result that it does not set stays empty: no replica receives it."]
#[doc = " - It returns 0, or any other number to fail the run, as a step does."]
#[doc = " - It may call any function of cross-replica context."]
pub type mdist_merge_fn = ::std::option::Option<
    unsafe extern "C" fn(
        strategy: *mut mdist_strategy_t,
        arguments: *const *mut mdist_value_t,
        argument_count: usize,
        results: *mut *mut mdist_value_t,
        result_count: usize,
        user_data: *mut ::std::os::raw::c_void,
    ) -> i32,
>;
extern "C" {
    #[doc = " Pauses every local replica, calls replica 0's @p merge once, and hands each replica its own part of the results."]
    #[doc = ""]
    #[doc = " Inside @p merge, call functions of cross-replica context. A nested mdist_run is allowed, and its step may merge"]
    #[doc = " again."]
    #[doc = " @param arguments  this replica's tensors (copied); the same count and dtypes on every replica. An argument set with"]
    #[doc = "                   mdist_replica_set_merge_argument is not read here; NULL if all were."]
    #[doc = " @param results    receives @p result_count descriptions, borrowed until this replica's next merge or the step's end."]
    #[doc = "                   data is NULL and dtype 0 for a structure (mdist_replica_merge_result) and for a result that the"]
    #[doc = "                   merge did not set."]
    #[doc = " @thread replica   @blocks until every local replica has called it and the merge is done"]
    #[doc = " @collective local replicas   @calls-back merge, on the thread of local replica 0   @since 0.1"]
    pub fn mdist_merge_call(
        replica: *mut mdist_replica_t,
        merge: mdist_merge_fn,
        user_data: *mut ::std::os::raw::c_void,
        arguments: *const mdist_tensor_t,
        argument_count: usize,
        results: *mut mdist_tensor_t,
        result_count: usize,
        options: *const mdist_call_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Sets the leaf at @p path of argument @p index of this replica's next merge to a copy of @p tensor."]
    #[doc = ""]
    #[doc = " The argument is then a structure (value.h). This works for mdist_merge_call and mdist_merge_begin. Every replica sets"]
    #[doc = " the same paths, else the run fails with MDIST_ERR_MISMATCH. The last call for a path counts. The next merge takes"]
    #[doc = " everything that was set, and refuses an index beyond its argument count."]
    #[doc = " @thread replica   @blocks no   @collective no   @calls-back never   @since 0.2"]
    pub fn mdist_replica_set_merge_argument(
        replica: *mut mdist_replica_t,
        index: usize,
        path: *const ::std::os::raw::c_char,
        tensor: *const mdist_tensor_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Describes this replica's tensor at @p path in result @p index of its last merge."]
    #[doc = ""]
    #[doc = " The tensor is borrowed as the results of that merge are, and lies where an argument would (mdist_replica_argument)."]
    #[doc = " NULL or \"\" is the path of a result that is no structure."]
    #[doc = " For a path that does not exist the error is MDIST_ERR_NOT_FOUND, and its message lists the paths there are."]
    #[doc = " @thread replica   @blocks no   @collective no   @calls-back never   @since 0.2"]
    pub fn mdist_replica_merge_result(
        replica: *mut mdist_replica_t,
        index: usize,
        path: *const ::std::os::raw::c_char,
        out: *mut mdist_tensor_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mdist_dataset {
    _unused: [u8; 0],
}
pub type mdist_dataset_t = mdist_dataset;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mdist_iterator {
    _unused: [u8; 0],
}
pub type mdist_iterator_t = mdist_iterator;
#[doc = " Options of a source or a transform of datasets. NULL, or all zero except struct_size: the defaults."]
#[doc = ""]
#[doc = " Each flag, and `parallel_calls`, belongs to the functions that it names. Others refuse it with"]
#[doc = " MDIST_ERR_INVALID_ARGUMENT."]
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mdist_dataset_options {
    pub struct_size: u32,
    pub flags: u32,
    pub parallel_calls: u32,
    pub reserved: u32,
}
#[test]
fn bindgen_test_layout_mdist_dataset_options() {
    assert_eq!(
        ::std::mem::size_of::<mdist_dataset_options>(),
        16usize,
        concat!("Size of: ", stringify!(mdist_dataset_options))
    );
    assert_eq!(
        ::std::mem::align_of::<mdist_dataset_options>(),
        4usize,
        concat!("Alignment of ", stringify!(mdist_dataset_options))
    );
    fn test_field_struct_size() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_dataset_options>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).struct_size) as usize - ptr as usize
            },
            0usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_dataset_options),
                "::",
                stringify!(struct_size)
            )
        );
    }
    test_field_struct_size();
    fn test_field_flags() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_dataset_options>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).flags) as usize - ptr as usize
            },
            4usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_dataset_options),
                "::",
                stringify!(flags)
            )
        );
    }
    test_field_flags();
    fn test_field_parallel_calls() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_dataset_options>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).parallel_calls) as usize - ptr as usize
            },
            8usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_dataset_options),
                "::",
                stringify!(parallel_calls)
            )
        );
    }
    test_field_parallel_calls();
    fn test_field_reserved() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_dataset_options>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).reserved) as usize - ptr as usize
            },
            12usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_dataset_options),
                "::",
                stringify!(reserved)
            )
        );
    }
    test_field_reserved();
}
#[doc = " Options of a source or a transform of datasets. NULL, or all zero except struct_size: the defaults."]
#[doc = ""]
#[doc = " Each flag, and `parallel_calls`, belongs to the functions that it names. Others refuse it with"]
#[doc = " MDIST_ERR_INVALID_ARGUMENT."]
pub type mdist_dataset_options_t = mdist_dataset_options;
extern "C" {
    #[doc = " Makes a dataset whose element i is row i of each array."]
    #[doc = ""]
    #[doc = " - The arrays are kept, not copied. They lie on the host and all have the same first dimension."]
    #[doc = " - They must stay valid and unchanged until @p free_user_data runs."]
    #[doc = " - If @p free_user_data is NULL, they must stay valid as long as any of these lives: the dataset, datasets made from"]
    #[doc = "   it, their iterators, their elements."]
    #[doc = " @thread any   @blocks no   @collective no"]
    #[doc = " @calls-back free_user_data, on the thread that drops the last reference   @since 0.1"]
    pub fn mdist_dataset_from_tensors(
        arrays: *const mdist_tensor_t,
        component_count: usize,
        user_data: *mut ::std::os::raw::c_void,
        free_user_data: mdist_free_fn,
        out: *mut *mut mdist_dataset_t,
        options: *const mdist_dataset_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Keeps elements @p index, @p index + @p shards, @p index + 2 * @p shards ..."]
    #[doc = ""]
    #[doc = " With MDIST_ONE_PER_WORKER as @p shards, it marks the place where each worker is to keep its own share: see input.h."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_dataset_shard(
        source: *const mdist_dataset_t,
        shards: u64,
        index: u64,
        out: *mut *mut mdist_dataset_t,
        options: *const mdist_dataset_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Shuffles the elements through a buffer: picks each next element at random from @p buffer_size elements, and refills"]
    #[doc = " the buffer from the source."]
    #[doc = ""]
    #[doc = " A buffer as large as the dataset shuffles it uniformly. The order depends only on @p seed and on how often this"]
    #[doc = " dataset has been iterated. Two programs, or two workers, that do the same with the same seed get the same order."]
    #[doc = ""]
    #[doc = " The order is a different one for each iterator of this dataset and of all datasets made from it, in the order of"]
    #[doc = " their creation, and for each epoch of mdist_dataset_repeat within an iterator. A restarted program begins with the"]
    #[doc = " first order again, unless it restores an iterator: then it continues from there. With MDIST_DATASET_SAME_ORDER the"]
    #[doc = " order is the same every time. (TensorFlow: reshuffle_each_iteration)"]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_dataset_shuffle(
        source: *const mdist_dataset_t,
        buffer_size: u64,
        seed: u64,
        out: *mut *mut mdist_dataset_t,
        options: *const mdist_dataset_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Repeats the source @p count times, or without end if @p count is MDIST_FOREVER."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_dataset_repeat(
        source: *const mdist_dataset_t,
        count: u64,
        out: *mut *mut mdist_dataset_t,
        options: *const mdist_dataset_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
#[doc = " Computes one element from another. It writes to @p outputs, which have the dtypes and shapes given to"]
#[doc = " mdist_dataset_map. Their memory is allocated already, and its content is undefined."]
#[doc = ""]
#[doc = " Returns 0 on success. Any other number ends the iteration with MDIST_ERR_CALLBACK, and mdist_error_native gives that"]
#[doc = " number."]
#[doc = ""]
#[doc = " The function runs on the thread that asks for the element. It runs on threads of the iterator with `parallel_calls`"]
#[doc = " (mdist_dataset_options_t), and if mdist_dataset_prefetch or fetching to devices (input.h) follows. Each iterator"]
#[doc = " makes one call at a time, except with `parallel_calls`. The function must not call the iterator that it serves."]
pub type mdist_map_fn = ::std::option::Option<
    unsafe extern "C" fn(
        inputs: *const mdist_tensor_t,
        input_count: usize,
        outputs: *const mdist_tensor_t,
        output_count: usize,
        user_data: *mut ::std::os::raw::c_void,
    ) -> i32,
>;
extern "C" {
    #[doc = " Applies @p map to every element."]
    #[doc = " @param outputs    dtype and shape of each output component; data is not read; the first dimension may be"]
    #[doc = "                   MDIST_UNKNOWN_LENGTH"]
    #[doc = " @param user_data  kept, together with @p map, until the dataset, those made from it and their iterators are gone"]
    #[doc = " @thread any   @blocks no   @collective no"]
    #[doc = " @calls-back never in this call: map later, as its type says, and free_user_data, on any thread   @since 0.1"]
    pub fn mdist_dataset_map(
        source: *const mdist_dataset_t,
        map: mdist_map_fn,
        user_data: *mut ::std::os::raw::c_void,
        free_user_data: mdist_free_fn,
        outputs: *const mdist_tensor_t,
        output_count: usize,
        out: *mut *mut mdist_dataset_t,
        options: *const mdist_dataset_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Joins @p batch_size consecutive elements along a new first dimension."]
    #[doc = ""]
    #[doc = " The last batch may be shorter. With MDIST_DATASET_DROP_REMAINDER, a shorter last batch is left out. Elements"]
    #[doc = " of one batch must have equal shapes; otherwise the iteration fails with MDIST_ERR_MISMATCH."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_dataset_batch(
        source: *const mdist_dataset_t,
        batch_size: u64,
        out: *mut *mut mdist_dataset_t,
        options: *const mdist_dataset_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Prepares elements ahead on a thread of each iterator, up to @p elements of them."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_dataset_prefetch(
        source: *const mdist_dataset_t,
        elements: u64,
        out: *mut *mut mdist_dataset_t,
        options: *const mdist_dataset_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Gives each component a path. The elements stay the same."]
    #[doc = ""]
    #[doc = " A path consists of names and positions, as in value.h. It says where a component lies when an element is taken as one"]
    #[doc = " value. Transforms keep the paths, except those that make components of their own (map). (TensorFlow: elements that"]
    #[doc = " are dictionaries.)"]
    #[doc = " @param count  must be mdist_dataset_component_count"]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_dataset_with_paths(
        source: *const mdist_dataset_t,
        paths: *const *const ::std::os::raw::c_char,
        count: usize,
        out: *mut *mut mdist_dataset_t,
        options: *const mdist_dataset_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Returns the number of components of an element. Returns 0 for a bad handle."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_dataset_component_count(dataset: *const mdist_dataset_t) -> usize;
}
extern "C" {
    #[doc = " Describes a component as far as it is known before there is an element (TensorFlow: element_spec). For a distributed"]
    #[doc = " dataset it describes what each replica gets."]
    #[doc = " @param out   receives dtype and shape, with MDIST_UNKNOWN_LENGTH for lengths that are not known; data is NULL"]
    #[doc = " @param path  receives the component's path in an element taken as one value, borrowed from the handle; may be NULL"]
    #[doc = " @param kind  receives MDIST_VALUE_PLAIN, or MDIST_VALUE_PER_REPLICA if the dataset is distributed; may be NULL"]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_dataset_component(
        dataset: *const mdist_dataset_t,
        component: usize,
        out: *mut mdist_tensor_t,
        path: *mut *const ::std::os::raw::c_char,
        kind: *mut i32,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Frees a dataset. Datasets made from it, and iterators, live on. NULL is fine."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back free functions given to its sources   @since 0.1"]
    pub fn mdist_dataset_destroy(dataset: *mut mdist_dataset_t);
}
extern "C" {
    #[doc = " Starts an iteration of a dataset."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_iterator_create(
        dataset: *const mdist_dataset_t,
        out: *mut *mut mdist_iterator_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Gives the next element, as one value for each component. The values are plain; those from a distributed dataset are"]
    #[doc = " per-replica."]
    #[doc = ""]
    #[doc = " - After the last element it returns MDIST_END, on every further call too."]
    #[doc = " - The values are yours to destroy. They stay valid when the iterator moves on or is destroyed."]
    #[doc = " - After an error the iterator returns the same error until it is restored (mdist_iterator_restore). Otherwise create"]
    #[doc = "   a new iterator."]
    #[doc = " - In a step of mdist_run the call fails with MDIST_ERR_WRONG_CONTEXT: pass elements as arguments instead."]
    #[doc = ""]
    #[doc = " If the workers take the elements of a distributed dataset together (input.h says when), this is a call of all"]
    #[doc = " workers:"]
    #[doc = " - Its place among the other calls that all workers make together must be the same on all workers."]
    #[doc = " - While another thread works with the strategy, it fails with MDIST_ERR_FAILED_PRECONDITION, reason `busy`."]
    #[doc = ""]
    #[doc = " @param count  must be mdist_dataset_component_count"]
    #[doc = " @thread one at a time per iterator   @blocks until the element is there"]
    #[doc = " @collective all workers for a distributed dataset   @calls-back map functions, as mdist_map_fn says   @since 0.1"]
    pub fn mdist_iterator_next(
        iterator: *mut mdist_iterator_t,
        out: *mut *mut mdist_value_t,
        count: usize,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Gives the next element as one value, as the top of this header describes."]
    #[doc = ""]
    #[doc = " Pass that value to a run as its one argument. Steps then read mdist_replica_argument(replica, 0, NULL, \"label\", ...)."]
    #[doc = " Everything else is as in mdist_iterator_next. (TensorFlow: get_next and get_next_as_optional. Where the latter"]
    #[doc = " returns an optional without a value at the end, this function returns MDIST_END.)"]
    #[doc = " @thread one at a time per iterator   @blocks until the element is there"]
    #[doc = " @collective all workers for a distributed dataset   @calls-back map functions, as mdist_map_fn says   @since 0.1"]
    pub fn mdist_iterator_next_value(
        iterator: *mut mdist_iterator_t,
        out: *mut *mut mdist_value_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Returns the number of components of an element, as mdist_dataset_component_count does. It also works after the"]
    #[doc = " dataset was destroyed or the iteration closed. Returns 0 for a bad handle."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_iterator_component_count(iterator: *const mdist_iterator_t) -> usize;
}
extern "C" {
    #[doc = " Describes a component, as mdist_dataset_component does. It also works after the dataset was destroyed or the"]
    #[doc = " iteration closed."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_iterator_component(
        iterator: *const mdist_iterator_t,
        component: usize,
        out: *mut mdist_tensor_t,
        path: *mut *const ::std::os::raw::c_char,
        kind: *mut i32,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Saves the position of an iterator, after the last element that it gave, as one line of printable text."]
    #[doc = ""]
    #[doc = " @p text, @p capacity and @p needed work as in mdist_config_get. The text says how many elements were taken, which"]
    #[doc = " orders the reshuffling shuffles have, and what the dataset is made of. For a distributed dataset one element is a"]
    #[doc = " step of all replicas, and every worker saves the same text."]
    #[doc = ""]
    #[doc = " The number of workers and replicas that may restore the position depends on who saved it:"]
    #[doc = " - A job in which all workers share every batch (policy DATA; mdist_dataset_explain says so): any number of workers"]
    #[doc = "   and replicas. With MDIST_UNEVEN_DROP, any number of workers with the same number of replicas in all."]
    #[doc = " - A job of one worker, under any policy: one worker with any number of replicas, if all batches but the last are"]
    #[doc = "   full."]
    #[doc = " - All other cases (FILE, OFF, MARKED, whole elements, datasets from functions): the same number of workers, which"]
    #[doc = "   take the same number of rows in a step."]
    #[doc = ""]
    #[doc = " Errors:"]
    #[doc = " - MDIST_ERR_FAILED_PRECONDITION, reason `unordered`: it is not defined which elements were given. This is so after"]
    #[doc = "   mdist_dataset_map with MDIST_DATASET_UNORDERED."]
    #[doc = " - After a failure of the iterator: that failure."]
    #[doc = " @thread one at a time per iterator   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_iterator_save(
        iterator: *mut mdist_iterator_t,
        text: *mut ::std::os::raw::c_char,
        capacity: usize,
        needed: *mut usize,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Moves an iterator to a saved position, perhaps one saved in another process. The saved iterator must be of an equal"]
    #[doc = " dataset."]
    #[doc = ""]
    #[doc = " This iterator may be fresh, used, failed or at its end. Afterwards it gives the elements that were left at the saved"]
    #[doc = " position, in the same order. Later iterators of the dataset reshuffle as they would have done there. If the call"]
    #[doc = " fails, the iterator stays as it was."]
    #[doc = ""]
    #[doc = " The iterator goes through the earlier elements again, as far as it must:"]
    #[doc = " - Rows in memory and numbers are skipped, also if functions map them."]
    #[doc = " - Records of files are read and checked. This includes all epochs of a mdist_dataset_repeat, so it is faster to make"]
    #[doc = "   an iterator for each epoch."]
    #[doc = " - Filters and generators are called. So is everything below a filter, cache or shuffle."]
    #[doc = " - Threads of the iterator may still call the same functions at that time, for elements that it had made ahead."]
    #[doc = " - Functions must make the same output of the same element each time. The library does not check this."]
    #[doc = ""]
    #[doc = " It never takes longer than taking the elements did. Do not restore a text from an untrusted source: it may claim that"]
    #[doc = " 2^63 elements of an endless dataset were taken."]
    #[doc = ""]
    #[doc = " Errors:"]
    #[doc = " - MDIST_ERR_DATA_LOSS, reason `corrupt`: the text is not a saved position."]
    #[doc = " - MDIST_ERR_MISMATCH, reason `different_dataset`: the dataset was made in another way, or has fewer elements than"]
    #[doc = "   were taken. The content of arrays, files and functions is not known and so not compared, and neither are folders of"]
    #[doc = "   files."]
    #[doc = " - MDIST_ERR_MISMATCH, reason `different_layout`: the position depends on the number of workers or replicas"]
    #[doc = "   (mdist_iterator_save lists the cases), and these are different."]
    #[doc = " @thread one at a time per iterator   @blocks until it is there"]
    #[doc = " @collective no; all workers do it with the same text for a distributed dataset"]
    #[doc = " @calls-back functions of the dataset as said, on this thread or those of the iterator   @since 0.1"]
    pub fn mdist_iterator_restore(
        iterator: *mut mdist_iterator_t,
        text: *const ::std::os::raw::c_char,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Ends the iteration, and returns when no function of yours runs for it any more and none of its memory is in use."]
    #[doc = ""]
    #[doc = " Call it before something that these functions refer to goes away, for example at the end of a scope. The iterator"]
    #[doc = " must still be destroyed. Asking for more elements fails with MDIST_ERR_FAILED_PRECONDITION, reason `closed`."]
    #[doc = " @thread one at a time per iterator   @blocks until functions of yours under way on its threads return"]
    #[doc = " @collective no   @calls-back free functions given to its sources   @since 0.1"]
    pub fn mdist_iterator_close(
        iterator: *mut mdist_iterator_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Frees an iterator. NULL is fine."]
    #[doc = ""]
    #[doc = " A function that is under way on a thread of the iterator runs to its end."]
    #[doc = " - If every source and map has a free function, this call never waits, so finalizers may use it. The thread of the"]
    #[doc = "   iterator calls the free functions."]
    #[doc = " - If some source or map was given no free function, this call waits for the function under way. Otherwise nobody"]
    #[doc = "   could tell when your memory is out of use."]
    #[doc = " @thread any   @blocks no, except as said above   @collective no"]
    #[doc = " @calls-back free functions given to its sources   @since 0.1"]
    pub fn mdist_iterator_destroy(iterator: *mut mdist_iterator_t);
}
extern "C" {
    #[doc = " Waits until no thread of a destroyed iterator can call a function of yours any more, but at most @p timeout_ns."]
    #[doc = ""]
    #[doc = " It is for language runtimes that end before their process does. A thread that calls into such a runtime afterwards"]
    #[doc = " may crash the process."]
    #[doc = " @param done  receives 1, or 0 if some threads are still at work"]
    #[doc = " @thread any   @blocks as said   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_iterators_wait(
        timeout_ns: u64,
        done: *mut i32,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
pub const MDIST_SUM: mdist_reduce_op = 1;
pub const MDIST_MEAN: mdist_reduce_op = 2;
pub const MDIST_MIN: mdist_reduce_op = 3;
pub const MDIST_MAX: mdist_reduce_op = 4;
pub const MDIST_PROD: mdist_reduce_op = 5;
pub const MDIST_AND: mdist_reduce_op = 6;
pub const MDIST_OR: mdist_reduce_op = 7;
pub const MDIST_XOR: mdist_reduce_op = 8;
pub const MDIST_REDUCE_OP_PIN_INT32: mdist_reduce_op = -2147483648;
pub type mdist_reduce_op = ::std::os::raw::c_int;
pub use self::mdist_reduce_op as mdist_reduce_op_t;
extern "C" {
    #[doc = " Reduces buffer i of all replicas and writes the result to output i of every replica."]
    #[doc = ""]
    #[doc = " (TensorFlow: ReplicaContext.all_reduce.)"]
    #[doc = " @param inputs   @p buffer_count buffers of any mix of dtypes"]
    #[doc = " @param outputs  as many, equal in count and dtype; may be @p inputs itself"]
    #[doc = " @thread replica   @blocks until every replica has called it and the result is there   @collective all replicas"]
    #[doc = " @calls-back never   @since 0.1"]
    pub fn mdist_all_reduce(
        replica: *mut mdist_replica_t,
        op: mdist_reduce_op_t,
        inputs: *const mdist_buffer_t,
        outputs: *const mdist_buffer_t,
        buffer_count: usize,
        options: *const mdist_call_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Reduces rows (see mdist_value_sparse) of all replicas."]
    #[doc = ""]
    #[doc = " - SUM joins the rows of all replicas in replica order. It does not merge rows of the same index."]
    #[doc = " - MEAN does the same and divides the rows by the number of replicas."]
    #[doc = " - Any other operation is MDIST_ERR_UNSUPPORTED."]
    #[doc = ""]
    #[doc = " Replicas may have different numbers of rows, or none. (TensorFlow: ReplicaContext.all_reduce of IndexedSlices.)"]
    #[doc = " @param indices  int64 [k]"]
    #[doc = " @param values   [k, ...]: the same shape on all replicas, except for k"]
    #[doc = " @param out      receives a plain value of rows, which you own, with the same content on every replica"]
    #[doc = " @thread replica   @blocks as mdist_all_reduce   @collective all replicas   @calls-back never   @since 0.1"]
    pub fn mdist_all_reduce_sparse(
        replica: *mut mdist_replica_t,
        op: mdist_reduce_op_t,
        indices: *const mdist_tensor_t,
        values: *const mdist_tensor_t,
        out: *mut *mut mdist_value_t,
        options: *const mdist_call_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Copies the buffers of replica @p root over those of all other replicas."]
    #[doc = " @thread replica   @blocks as mdist_all_reduce   @collective all replicas   @calls-back never   @since 0.1"]
    pub fn mdist_broadcast(
        replica: *mut mdist_replica_t,
        root: u32,
        buffers: *const mdist_buffer_t,
        buffer_count: usize,
        options: *const mdist_call_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Joins the inputs of all replicas in replica order and writes the result to every replica's output."]
    #[doc = ""]
    #[doc = " Inputs may have different lengths on different replicas. Output i is as long as all inputs i together. If you do not"]
    #[doc = " know the lengths, gather them first, as one uint64 each. To work in place, pass as input this replica's part of the"]
    #[doc = " output."]
    #[doc = " @thread replica   @blocks as mdist_all_reduce   @collective all replicas   @calls-back never   @since 0.1"]
    pub fn mdist_all_gather(
        replica: *mut mdist_replica_t,
        inputs: *const mdist_buffer_t,
        outputs: *const mdist_buffer_t,
        buffer_count: usize,
        options: *const mdist_call_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Reduces like mdist_all_reduce, but gives each replica only its own part of the result."]
    #[doc = ""]
    #[doc = " The parts lie in the input in replica order. Each part is as long as that replica's output; these lengths may differ."]
    #[doc = " To work in place, pass as output this replica's part of the input."]
    #[doc = " @thread replica   @blocks as mdist_all_reduce   @collective all replicas   @calls-back never   @since 0.1"]
    pub fn mdist_reduce_scatter(
        replica: *mut mdist_replica_t,
        op: mdist_reduce_op_t,
        inputs: *const mdist_buffer_t,
        outputs: *const mdist_buffer_t,
        buffer_count: usize,
        options: *const mdist_call_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Cuts each input into as many equal parts as there are replicas; part j of replica i becomes part i of replica j."]
    #[doc = ""]
    #[doc = " It does not work in place."]
    #[doc = " @thread replica   @blocks as mdist_all_reduce   @collective all replicas   @calls-back never   @since 0.1"]
    pub fn mdist_all_to_all(
        replica: *mut mdist_replica_t,
        inputs: *const mdist_buffer_t,
        outputs: *const mdist_buffer_t,
        buffer_count: usize,
        options: *const mdist_call_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " All-to-all with parts of any lengths (MPI: Alltoallv); part j of replica i becomes part i of replica j."]
    #[doc = ""]
    #[doc = " - The parts of a buffer lie end to end, in the order of the replicas. Some may be empty."]
    #[doc = " - Each replica says how long its own parts are, both those that it sends and those that it receives."]
    #[doc = " - If sender and receiver of a part give different lengths, the call is MDIST_ERR_MISMATCH on all replicas. The"]
    #[doc = "   message names both replicas and their lengths."]
    #[doc = " - If you do not know the lengths that the others send, exchange them first: call mdist_all_to_all with one uint64 for"]
    #[doc = "   each replica."]
    #[doc = " - It does not work in place."]
    #[doc = " @param input_parts   elements that go from input b to replica j at [b * n + j], if the job has n replicas. The parts"]
    #[doc = "                      of an input add up to its elements."]
    #[doc = " @param output_parts  elements that come from replica j into output b at [b * n + j]"]
    #[doc = " @thread replica   @blocks as mdist_all_reduce   @collective all replicas   @calls-back never   @since 0.2"]
    pub fn mdist_all_to_all_parts(
        replica: *mut mdist_replica_t,
        inputs: *const mdist_buffer_t,
        input_parts: *const u64,
        outputs: *const mdist_buffer_t,
        output_parts: *const u64,
        buffer_count: usize,
        options: *const mdist_call_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Reduces like mdist_all_reduce, but gives the result to replica @p root only."]
    #[doc = ""]
    #[doc = " The outputs of the root are as long as its inputs, and may be the same memory."]
    #[doc = " @param outputs  used on replica @p root only; may be NULL on the others"]
    #[doc = " @thread replica   @blocks as mdist_all_reduce   @collective all replicas   @calls-back never   @since 0.1"]
    pub fn mdist_reduce_to_root(
        replica: *mut mdist_replica_t,
        op: mdist_reduce_op_t,
        root: u32,
        inputs: *const mdist_buffer_t,
        outputs: *const mdist_buffer_t,
        buffer_count: usize,
        options: *const mdist_call_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Gathers like mdist_all_gather, but gives the result to replica @p root only."]
    #[doc = " @param outputs  used on replica @p root only; may be NULL on the others"]
    #[doc = " @thread replica   @blocks as mdist_all_reduce   @collective all replicas   @calls-back never   @since 0.1"]
    pub fn mdist_gather_to_root(
        replica: *mut mdist_replica_t,
        root: u32,
        inputs: *const mdist_buffer_t,
        outputs: *const mdist_buffer_t,
        buffer_count: usize,
        options: *const mdist_call_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Gives each replica its part of the inputs of replica @p root."]
    #[doc = ""]
    #[doc = " The parts lie in the root's input in replica order. Each part is as long as that replica's output; these lengths may"]
    #[doc = " differ. The root may work in place: its output is then its part of the input."]
    #[doc = " @param inputs  used on replica @p root only; may be NULL on the others"]
    #[doc = " @thread replica   @blocks as mdist_all_reduce   @collective all replicas   @calls-back never   @since 0.1"]
    pub fn mdist_scatter(
        replica: *mut mdist_replica_t,
        root: u32,
        inputs: *const mdist_buffer_t,
        outputs: *const mdist_buffer_t,
        buffer_count: usize,
        options: *const mdist_call_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Returns when every replica has called it."]
    #[doc = " @thread replica   @blocks until then   @collective all replicas   @calls-back never   @since 0.1"]
    pub fn mdist_barrier(
        replica: *mut mdist_replica_t,
        options: *const mdist_call_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
pub const MDIST_COLLECTIVE_ALL_REDUCE: mdist_collective_kind = 1;
pub const MDIST_COLLECTIVE_BROADCAST: mdist_collective_kind = 2;
pub const MDIST_COLLECTIVE_ALL_GATHER: mdist_collective_kind = 3;
pub const MDIST_COLLECTIVE_REDUCE_SCATTER: mdist_collective_kind = 4;
pub const MDIST_COLLECTIVE_ALL_TO_ALL: mdist_collective_kind = 5;
pub const MDIST_COLLECTIVE_ALL_TO_ALL_PARTS: mdist_collective_kind = 6;
pub const MDIST_COLLECTIVE_REDUCE_TO_ROOT: mdist_collective_kind = 7;
pub const MDIST_COLLECTIVE_GATHER_TO_ROOT: mdist_collective_kind = 8;
pub const MDIST_COLLECTIVE_SCATTER: mdist_collective_kind = 9;
pub const MDIST_COLLECTIVE_BARRIER: mdist_collective_kind = 10;
pub const MDIST_COLLECTIVE_PIN_INT32: mdist_collective_kind = -2147483648;
#[doc = " The collectives that can be described. Each has the name of its function."]
pub type mdist_collective_kind = ::std::os::raw::c_int;
#[doc = " The collectives that can be described. Each has the name of its function."]
pub use self::mdist_collective_kind as mdist_collective_kind_t;
#[doc = " A collective as a struct, to start it (<mdist/work.h>) or to prepare it (<mdist/prepared.h>)."]
#[doc = ""]
#[doc = " The fields are the arguments of the collective's function. The library copies the arrays, not the memory of the"]
#[doc = " buffers. A field that the collective does not use must be 0, else the call is MDIST_ERR_INVALID_ARGUMENT. A group"]
#[doc = " stands in the options, as in all calls."]
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mdist_collective_description {
    pub struct_size: u32,
    pub kind: i32,
    pub op: i32,
    pub root: u32,
    pub inputs: *const mdist_buffer_t,
    pub outputs: *const mdist_buffer_t,
    pub buffer_count: usize,
    pub input_parts: *const u64,
    pub output_parts: *const u64,
}
#[test]
fn bindgen_test_layout_mdist_collective_description() {
    assert_eq!(
        ::std::mem::size_of::<mdist_collective_description>(),
        56usize,
        concat!("Size of: ", stringify!(mdist_collective_description))
    );
    assert_eq!(
        ::std::mem::align_of::<mdist_collective_description>(),
        8usize,
        concat!("Alignment of ", stringify!(mdist_collective_description))
    );
    fn test_field_struct_size() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_collective_description>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).struct_size) as usize - ptr as usize
            },
            0usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_collective_description),
                "::",
                stringify!(struct_size)
            )
        );
    }
    test_field_struct_size();
    fn test_field_kind() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_collective_description>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).kind) as usize - ptr as usize
            },
            4usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_collective_description),
                "::",
                stringify!(kind)
            )
        );
    }
    test_field_kind();
    fn test_field_op() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_collective_description>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).op) as usize - ptr as usize
            },
            8usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_collective_description),
                "::",
                stringify!(op)
            )
        );
    }
    test_field_op();
    fn test_field_root() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_collective_description>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).root) as usize - ptr as usize
            },
            12usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_collective_description),
                "::",
                stringify!(root)
            )
        );
    }
    test_field_root();
    fn test_field_inputs() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_collective_description>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).inputs) as usize - ptr as usize
            },
            16usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_collective_description),
                "::",
                stringify!(inputs)
            )
        );
    }
    test_field_inputs();
    fn test_field_outputs() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_collective_description>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).outputs) as usize - ptr as usize
            },
            24usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_collective_description),
                "::",
                stringify!(outputs)
            )
        );
    }
    test_field_outputs();
    fn test_field_buffer_count() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_collective_description>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).buffer_count) as usize - ptr as usize
            },
            32usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_collective_description),
                "::",
                stringify!(buffer_count)
            )
        );
    }
    test_field_buffer_count();
    fn test_field_input_parts() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_collective_description>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).input_parts) as usize - ptr as usize
            },
            40usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_collective_description),
                "::",
                stringify!(input_parts)
            )
        );
    }
    test_field_input_parts();
    fn test_field_output_parts() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_collective_description>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).output_parts) as usize - ptr as usize
            },
            48usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_collective_description),
                "::",
                stringify!(output_parts)
            )
        );
    }
    test_field_output_parts();
}
#[doc = " A collective as a struct, to start it (<mdist/work.h>) or to prepare it (<mdist/prepared.h>)."]
#[doc = ""]
#[doc = " The fields are the arguments of the collective's function. The library copies the arrays, not the memory of the"]
#[doc = " buffers. A field that the collective does not use must be 0, else the call is MDIST_ERR_INVALID_ARGUMENT. A group"]
#[doc = " stands in the options, as in all calls."]
pub type mdist_collective_description_t = mdist_collective_description;
extern "C" {
    #[doc = " Reduces all local replicas' buffers in one call, outside of steps."]
    #[doc = ""]
    #[doc = " It does what mdist_all_reduce does, for programs that alternate between running and reducing."]
    #[doc = ""]
    #[doc = " Several workers: a call that this worker refuses returns when the others have come to it. If all refuse it, each gets"]
    #[doc = " its own error, and the job goes on. Otherwise the job ends, for the reason of the worker that refused. So it is with"]
    #[doc = " mdist_strategy_reduce, mdist_strategy_reduce_axes, mdist_strategy_reduce_to, mdist_strategy_gather,"]
    #[doc = " mdist_variable_create and mdist_group_create."]
    #[doc = " @param inputs   buffer b of local replica r at [r * buffer_count + b]"]
    #[doc = " @param outputs  likewise; may be @p inputs itself"]
    #[doc = " @thread one at a time per strategy   @blocks until the result is there   @collective all workers"]
    #[doc = " @calls-back never   @since 0.1"]
    pub fn mdist_strategy_all_reduce(
        strategy: *mut mdist_strategy_t,
        op: mdist_reduce_op_t,
        inputs: *const mdist_buffer_t,
        outputs: *const mdist_buffer_t,
        buffer_count: usize,
        options: *const mdist_call_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Reduces a value over replicas, element by element, to a plain value in host memory (TensorFlow: Strategy.reduce)."]
    #[doc = ""]
    #[doc = " Shapes must be equal. MEAN divides by the number of replicas."]
    #[doc = ""]
    #[doc = " Kinds of values"]
    #[doc = " - Per-replica value: the replicas' tensors are reduced."]
    #[doc = " - Plain and mirrored values: MEAN, MIN, MAX, AND and OR give them back. SUM, PROD and XOR are"]
    #[doc = "   MDIST_ERR_INVALID_ARGUMENT, in every layout and whatever the elements. (TensorFlow allows a SUM of zeros, of one"]
    #[doc = "   replica, and of one replica on each of several workers.)"]
    #[doc = " - Rows (mdist_value_sparse): as in mdist_all_reduce_sparse."]
    #[doc = " - Structure: the library reduces it leaf by leaf, in one operation. The result has the same paths. All workers must"]
    #[doc = "   have the same paths, too."]
    #[doc = " @thread one at a time per strategy   @blocks until the result is there   @collective all workers"]
    #[doc = " @calls-back never   @since 0.3"]
    pub fn mdist_strategy_reduce(
        strategy: *mut mdist_strategy_t,
        op: mdist_reduce_op_t,
        value: *const mdist_value_t,
        out: *mut *mut mdist_value_t,
        options: *const mdist_call_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Reduces each tensor over @p axes, and then over replicas, to a plain value in host memory (TensorFlow:"]
    #[doc = " Strategy.reduce with an axis)."]
    #[doc = ""]
    #[doc = " Negative axes count from the end. Without axes it does what mdist_strategy_reduce does."]
    #[doc = " - Replicas may have different lengths along the axes. MEAN divides by the true number of elements, so a last batch"]
    #[doc = "   that is not full counts correctly."]
    #[doc = " - Integers are summed in 64 bits. Their MEAN is float64."]
    #[doc = " - Over no elements, MEAN is NaN, SUM, OR and XOR are 0, PROD is 1, and AND has all bits set (true for bool). MIN is"]
    #[doc = "   the largest number of the type and MAX the smallest (infinities for floating-point types)."]
    #[doc = ""]
    #[doc = " Plain values and structures work as in mdist_strategy_reduce. Of a mirrored value each replica's equal copy counts."]
    #[doc = " Rows cannot be reduced over axes."]
    #[doc = " @thread one at a time per strategy   @blocks until the result is there   @collective all workers"]
    #[doc = " @calls-back never   @since 0.3"]
    pub fn mdist_strategy_reduce_axes(
        strategy: *mut mdist_strategy_t,
        op: mdist_reduce_op_t,
        value: *const mdist_value_t,
        axes: *const i32,
        axis_count: usize,
        out: *mut *mut mdist_value_t,
        options: *const mdist_call_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Reduces per-replica values to devices: value i goes to destination i and gives out i."]
    #[doc = ""]
    #[doc = " - Plain and mirrored values, and structures, work as in mdist_strategy_reduce."]
    #[doc = " - Either all reductions succeed, or none."]
    #[doc = " - All values that go to the devices they came from are one operation, however many values and leaves there are. All"]
    #[doc = "   values that go to single devices are another one. @p options or the config can cut both into packs."]
    #[doc = " - Small results share memory, up to 4 MiB. That memory is freed with the last of them."]
    #[doc = ""]
    #[doc = " (TensorFlow: StrategyExtended.reduce_to and batch_reduce_to.)"]
    #[doc = " @param destinations  NULL: each value goes to the devices it came from. Else one for each value. NULL or \"\": the"]
    #[doc = "                      devices that the value came from; the result is mirrored, so this is an all-reduce. Else the"]
    #[doc = "                      name of one device of this strategy; the result is a plain value there."]
    #[doc = " @thread one at a time per strategy   @blocks until the results are there   @collective all workers"]
    #[doc = " @calls-back never   @since 0.2"]
    pub fn mdist_strategy_reduce_to(
        strategy: *mut mdist_strategy_t,
        op: mdist_reduce_op_t,
        values: *const *mut mdist_value_t,
        destinations: *const *const ::std::os::raw::c_char,
        count: usize,
        out: *mut *mut mdist_value_t,
        options: *const mdist_call_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Makes a mirrored value with a copy of @p tensor on every local device."]
    #[doc = ""]
    #[doc = " (TensorFlow: broadcast_to.) For structures use mdist_value_mirrored."]
    #[doc = " @thread one at a time per strategy   @blocks for the copies, on GPUs   @collective no"]
    #[doc = " @calls-back never   @since 0.2"]
    pub fn mdist_strategy_broadcast(
        strategy: *mut mdist_strategy_t,
        tensor: *const mdist_tensor_t,
        out: *mut *mut mdist_value_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
#[doc = " Computes a result from a tensor, on the device where the tensor lies."]
#[doc = ""]
#[doc = " It sets @p result to a plain value that it makes and hands over, even if it fails. It returns 0, or any other number"]
#[doc = " to fail the call; mdist_error_native then gives the number. It may call any function of cross-replica context."]
pub type mdist_fetch_fn = ::std::option::Option<
    unsafe extern "C" fn(
        source: *const mdist_tensor_t,
        result: *mut *mut mdist_value_t,
        user_data: *mut ::std::os::raw::c_void,
    ) -> i32,
>;
extern "C" {
    #[doc = " Copies the content of a plain or mirrored value to the device named @p destination, as a plain value."]
    #[doc = ""]
    #[doc = " With @p fetch, the library calls it on the device where the value lies, and copies only its result. (TensorFlow 1:"]
    #[doc = " fetch.) For a mirrored value the library takes the copy at the destination, if there is one."]
    #[doc = ""]
    #[doc = " A per-replica value is MDIST_ERR_INVALID_ARGUMENT, because its replicas have different contents. For variables use"]
    #[doc = " mdist_variable_read."]
    #[doc = " @param destination  NULL or \"\": host memory"]
    #[doc = " @param fetch        NULL: the content itself"]
    #[doc = " @thread one at a time per strategy   @blocks for @p fetch and the copy   @collective no"]
    #[doc = " @calls-back fetch, on this thread   @since 0.2"]
    pub fn mdist_strategy_fetch(
        strategy: *mut mdist_strategy_t,
        value: *const mdist_value_t,
        destination: *const ::std::os::raw::c_char,
        fetch: mdist_fetch_fn,
        user_data: *mut ::std::os::raw::c_void,
        out: *mut *mut mdist_value_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Joins the replicas' tensors along @p axis, in replica order, to a plain value in host memory."]
    #[doc = ""]
    #[doc = " - Lengths along the axis may differ. Rank, dtype and the other dimensions must be the same."]
    #[doc = " - A plain or mirrored value counts once per replica."]
    #[doc = " - A structure is gathered leaf by leaf."]
    #[doc = " - Rows are MDIST_ERR_UNSUPPORTED: reduce them with SUM, which joins them."]
    #[doc = ""]
    #[doc = " (TensorFlow: Strategy.gather.)"]
    #[doc = " @thread one at a time per strategy   @blocks until the result is there   @collective all workers"]
    #[doc = " @calls-back never   @since 0.2"]
    pub fn mdist_strategy_gather(
        strategy: *mut mdist_strategy_t,
        value: *const mdist_value_t,
        axis: i32,
        out: *mut *mut mdist_value_t,
        options: *const mdist_call_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mdist_variable {
    _unused: [u8; 0],
}
pub type mdist_variable_t = mdist_variable;
pub const MDIST_SYNC_AUTO: mdist_synchronization = 0;
pub const MDIST_SYNC_ON_WRITE: mdist_synchronization = 1;
pub const MDIST_SYNC_ON_READ: mdist_synchronization = 2;
pub const MDIST_SYNC_PIN_INT32: mdist_synchronization = -2147483648;
pub type mdist_synchronization = ::std::os::raw::c_int;
pub use self::mdist_synchronization as mdist_synchronization_t;
pub const MDIST_AGGREGATION_NONE: mdist_aggregation = 0;
pub const MDIST_AGGREGATION_SUM: mdist_aggregation = 1;
pub const MDIST_AGGREGATION_MEAN: mdist_aggregation = 2;
pub const MDIST_AGGREGATION_ONLY_FIRST_REPLICA: mdist_aggregation = 3;
pub const MDIST_AGGREGATION_PIN_INT32: mdist_aggregation = -2147483648;
pub type mdist_aggregation = ::std::os::raw::c_int;
pub use self::mdist_aggregation as mdist_aggregation_t;
pub const MDIST_ASSIGN_SET: mdist_assign = 1;
pub const MDIST_ASSIGN_ADD: mdist_assign = 2;
pub const MDIST_ASSIGN_SUB: mdist_assign = 3;
pub const MDIST_ASSIGN_MUL: mdist_assign = 4;
pub const MDIST_ASSIGN_DIV: mdist_assign = 5;
pub const MDIST_ASSIGN_MIN: mdist_assign = 6;
pub const MDIST_ASSIGN_MAX: mdist_assign = 7;
pub const MDIST_ASSIGN_PIN_INT32: mdist_assign = -2147483648;
#[doc = " How a write changes a variable. A bool variable takes SET and, for rows, MIN and MAX."]
pub type mdist_assign = ::std::os::raw::c_int;
#[doc = " How a write changes a variable. A bool variable takes SET and, for rows, MIN and MAX."]
pub use self::mdist_assign as mdist_assign_t;
#[doc = " Options of a variable. NULL, or all fields but struct_size zero: mirrored, aggregation NONE."]
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mdist_variable_options {
    pub struct_size: u32,
    pub synchronization: i32,
    pub aggregation: i32,
    pub reserved: i32,
    pub colocate_with: *const mdist_variable_t,
}
#[test]
fn bindgen_test_layout_mdist_variable_options() {
    assert_eq!(
        ::std::mem::size_of::<mdist_variable_options>(),
        24usize,
        concat!("Size of: ", stringify!(mdist_variable_options))
    );
    assert_eq!(
        ::std::mem::align_of::<mdist_variable_options>(),
        8usize,
        concat!("Alignment of ", stringify!(mdist_variable_options))
    );
    fn test_field_struct_size() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_variable_options>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).struct_size) as usize - ptr as usize
            },
            0usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_variable_options),
                "::",
                stringify!(struct_size)
            )
        );
    }
    test_field_struct_size();
    fn test_field_synchronization() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_variable_options>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).synchronization) as usize - ptr as usize
            },
            4usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_variable_options),
                "::",
                stringify!(synchronization)
            )
        );
    }
    test_field_synchronization();
    fn test_field_aggregation() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_variable_options>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).aggregation) as usize - ptr as usize
            },
            8usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_variable_options),
                "::",
                stringify!(aggregation)
            )
        );
    }
    test_field_aggregation();
    fn test_field_reserved() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_variable_options>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).reserved) as usize - ptr as usize
            },
            12usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_variable_options),
                "::",
                stringify!(reserved)
            )
        );
    }
    test_field_reserved();
    fn test_field_colocate_with() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_variable_options>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).colocate_with) as usize - ptr as usize
            },
            16usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_variable_options),
                "::",
                stringify!(colocate_with)
            )
        );
    }
    test_field_colocate_with();
}
#[doc = " Options of a variable. NULL, or all fields but struct_size zero: mirrored, aggregation NONE."]
pub type mdist_variable_options_t = mdist_variable_options;
extern "C" {
    #[doc = " Creates a variable with a copy of @p initial on every replica (zeros if its data is NULL)."]
    #[doc = ""]
    #[doc = " Worker 0's @p initial counts on all workers, so the others' may hold anything of the same dtype and shape. Memory of"]
    #[doc = " your own that is no variable, such as weights of another library, must be made equal by you: see mdist_broadcast."]
    #[doc = ""]
    #[doc = " Variables of one dtype lie side by side in one arena per replica: see mdist_variable_arena. In a step, use"]
    #[doc = " mdist_replica_variable_create."]
    #[doc = " @param name  for messages and checkpoints; not empty, and unique within the strategy"]
    #[doc = " @thread one at a time per strategy   @blocks until all workers have the initial value   @collective all workers"]
    #[doc = " @calls-back never   @since 0.1"]
    pub fn mdist_variable_create(
        strategy: *mut mdist_strategy_t,
        name: *const ::std::os::raw::c_char,
        initial: *const mdist_tensor_t,
        out: *mut *mut mdist_variable_t,
        options: *const mdist_variable_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Creates a variable from inside a step."]
    #[doc = ""]
    #[doc = " Every replica makes the same call (name, shape, dtype, options). Replica 0's @p initial is the initial value on all"]
    #[doc = " replicas, even if it is random. Each replica receives its own handle to the variable. The variable is freed with the"]
    #[doc = " last handle."]
    #[doc = " @thread replica   @blocks until every replica has called it   @collective all replicas"]
    #[doc = " @calls-back never   @since 0.1"]
    pub fn mdist_replica_variable_create(
        replica: *mut mdist_replica_t,
        name: *const ::std::os::raw::c_char,
        initial: *const mdist_tensor_t,
        out: *mut *mut mdist_variable_t,
        options: *const mdist_variable_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Writes a variable outside of steps."]
    #[doc = ""]
    #[doc = " - It writes the copies of this worker. Call it with equal values on all workers, else their copies differ."]
    #[doc = " - A plain or mirrored value goes to every copy."]
    #[doc = " - Each tensor of a per-replica value goes to its own copy; the copies then differ."]
    #[doc = " - A value of rows (mdist_value_sparse) writes those rows of the copies and no others, as mdist_replica_assign_sparse"]
    #[doc = "   does."]
    #[doc = " - Inside mdist_update's function the call writes only the copy at hand, from that copy's tensor of the value."]
    #[doc = ""]
    #[doc = " Sync-on-read variables with aggregation SUM are special. SET gives each of N copies 1/N of its tensor (integers:"]
    #[doc = " rounded towards zero), so that reading gives the tensor back. ADD and SUB are MDIST_ERR_FAILED_PRECONDITION."]
    #[doc = " (Creation does not divide: every copy starts with the initial value.)"]
    #[doc = " @thread one at a time per strategy   @blocks for the copy, on GPUs; on the client of an in-graph job: for the other"]
    #[doc = " workers   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_variable_assign(
        variable: *mut mdist_variable_t,
        assign: mdist_assign_t,
        value: *const mdist_value_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Writes a variable inside a step."]
    #[doc = ""]
    #[doc = " Mirrored variables, by aggregation:"]
    #[doc = " - SUM and MEAN: the replicas' tensors are reduced, and the result is applied once to every copy. All replicas must"]
    #[doc = "   call."]
    #[doc = " - ONLY_FIRST_REPLICA: replica 0's tensor is applied to every copy. All replicas must call."]
    #[doc = " - NONE: only this replica's copy changes, and no other replica takes part."]
    #[doc = ""]
    #[doc = " Sync-on-read variables: only this replica's copy changes, and no other replica takes part."]
    #[doc = " @thread replica   @blocks as mdist_all_reduce where replicas take part   @collective all replicas, or no"]
    #[doc = " @calls-back never   @since 0.1"]
    pub fn mdist_replica_assign(
        replica: *mut mdist_replica_t,
        variable: *mut mdist_variable_t,
        assign: mdist_assign_t,
        tensor: *const mdist_tensor_t,
        options: *const mdist_call_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Writes rows of a variable inside a step: row i of @p values goes into row indices[i]."]
    #[doc = ""]
    #[doc = " The rows are applied one after another in their order; an index may come twice. (TensorFlow: scatter_update, _add,"]
    #[doc = " _sub, _mul, _div, _min, _max.)"]
    #[doc = ""]
    #[doc = " Mirrored variables, by aggregation:"]
    #[doc = " - NONE: this replica's rows go into its own copy."]
    #[doc = " - ONLY_FIRST_REPLICA: replica 0's rows go into every copy."]
    #[doc = " - SUM: the rows of all replicas, in replica order, go into every copy."]
    #[doc = " - MEAN: as SUM, with each row divided by the number of replicas."]
    #[doc = ""]
    #[doc = " With ONLY_FIRST_REPLICA, SUM and MEAN every replica must call, with any number of rows."]
    #[doc = " - MDIST_ERR_UNSUPPORTED, reason `sparse_aggregation`: SET, MIN or MAX with aggregation SUM or MEAN"]
    #[doc = " - MDIST_ERR_UNSUPPORTED, reason `sparse_on_read`: the variable is sync-on-read"]
    #[doc = " - MDIST_ERR_INVALID_ARGUMENT: the variable has no row of some index; nothing is written"]
    #[doc = " @param indices  int64 [k]"]
    #[doc = " @param values   [k, ...]: the variable's shape, except for the first dimension"]
    #[doc = " @thread replica   @blocks as mdist_all_reduce where replicas take part   @collective all replicas, or no"]
    #[doc = " @calls-back never   @since 0.1"]
    pub fn mdist_replica_assign_sparse(
        replica: *mut mdist_replica_t,
        variable: *mut mdist_variable_t,
        assign: mdist_assign_t,
        indices: *const mdist_tensor_t,
        values: *const mdist_tensor_t,
        options: *const mdist_call_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Reads a variable outside of steps, as a plain value (a copy in host memory)."]
    #[doc = ""]
    #[doc = " - Mirrored: gives copy 0."]
    #[doc = " - Sync-on-read with SUM or MEAN: aggregates the copies of all replicas."]
    #[doc = " - Sync-on-read with ONLY_FIRST_REPLICA: gives the copy of replica 0 of the job, on all workers."]
    #[doc = " - Sync-on-read with NONE: MDIST_ERR_FAILED_PRECONDITION."]
    #[doc = ""]
    #[doc = " In a step, read the memory of mdist_variable_tensor instead."]
    #[doc = " @thread one at a time per strategy   @blocks until the result is there   @collective all workers for sync-on-read"]
    #[doc = " @calls-back never   @since 0.1"]
    pub fn mdist_variable_read(
        variable: *mut mdist_variable_t,
        out: *mut *mut mdist_value_t,
        options: *const mdist_call_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Makes mdist_variable_read return cached results until mdist_cached_reads_exit."]
    #[doc = ""]
    #[doc = " Each variable of the strategy keeps giving what its first read gave, whatever is written later. Later reads do not"]
    #[doc = " ask other workers. Use this if you read the same numbers in many places."]
    #[doc = " - It does not nest: MDIST_ERR_FAILED_PRECONDITION, reason `cached_reads`."]
    #[doc = " - All workers must enter and leave at the same points: a worker that reads from its cache does not join a read that"]
    #[doc = "   others wait for."]
    #[doc = " - A client that leads other workers (serve.h) caches its own reads."]
    #[doc = " - In a step a read is a look at memory. Keep a copy of it instead."]
    #[doc = " - Checkpoints are saved from the variables themselves."]
    #[doc = ""]
    #[doc = " (TensorFlow: cache_variable_reads.)"]
    #[doc = " @thread one at a time per strategy   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_cached_reads_enter(
        strategy: *mut mdist_strategy_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Ends what mdist_cached_reads_enter began."]
    #[doc = ""]
    #[doc = " Without mdist_cached_reads_enter it is MDIST_ERR_FAILED_PRECONDITION, reason `cached_reads`."]
    #[doc = " @thread one at a time per strategy   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_cached_reads_exit(
        strategy: *mut mdist_strategy_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Describes the copy of a local replica, which lies on its device."]
    #[doc = ""]
    #[doc = " It is borrowed until the variable is destroyed. Its address stays the same, but ask again after mdist_regroup"]
    #[doc = " (elastic.h). You may read and write it as you like,"]
    #[doc = " from one thread at a time. (On a GPU, use kernels and copies: see <mdist/gpu.h>.) If you write a mirrored variable"]
    #[doc = " this way, you must keep its copies equal."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_variable_tensor(
        variable: *const mdist_variable_t,
        local_replica: u32,
        out: *mut mdist_tensor_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Returns the name of a variable, borrowed; \"\" for a bad handle."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_variable_name(variable: *const mdist_variable_t) -> *const ::std::os::raw::c_char;
}
extern "C" {
    #[doc = " Gives all variables of @p dtype of a local replica as one buffer, so that one call can reduce or update all of them."]
    #[doc = ""]
    #[doc = " - Variables lie in order of creation, but a new one may take the place of a destroyed one."]
    #[doc = " - Each starts at a multiple of 64 bytes, at the address of mdist_variable_tensor. The offset is the same on every"]
    #[doc = "   replica."]
    #[doc = " - The gaps hold zeros unless you write there."]
    #[doc = " - The arena holds mirrored and sync-on-read variables. Reducing it makes sync-on-read copies equal, too."]
    #[doc = " - It is borrowed until the strategy and its variables are gone. New variables make it longer; it never moves."]
    #[doc = " - Without a variable of that dtype: data NULL, no elements."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_variable_arena(
        strategy: *const mdist_strategy_t,
        dtype: mdist_dtype_t,
        local_replica: u32,
        out: *mut mdist_buffer_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Finds the variable that holds the memory at @p address, and the local replica whose copy it is."]
    #[doc = ""]
    #[doc = " This is for functions that see tensors only. If no variable of this strategy holds the address, it is"]
    #[doc = " MDIST_ERR_NOT_FOUND. (TensorFlow: value_container, variable_created_in_scope.)"]
    #[doc = " @param out            receives your own handle to the variable, which is freed with the last of its handles"]
    #[doc = " @param local_replica  may be NULL"]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_variable_at_address(
        strategy: *const mdist_strategy_t,
        address: *const ::std::os::raw::c_void,
        out: *mut *mut mdist_variable_t,
        local_replica: *mut u32,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Finds a variable by its name, no matter who created it, even in a step."]
    #[doc = ""]
    #[doc = " MDIST_ERR_NOT_FOUND lists the names there are."]
    #[doc = " @param out  receives your own handle to the variable, which is freed with the last of its handles"]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_variable_named(
        strategy: *const mdist_strategy_t,
        name: *const ::std::os::raw::c_char,
        out: *mut *mut mdist_variable_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
#[doc = " Changes one copy of a variable, in update context."]
#[doc = ""]
#[doc = " - @p copy is the memory of the copy. On a GPU, change it with kernels; their work must be done when the function"]
#[doc = "   returns."]
#[doc = " - @p arguments holds, for each argument, the tensor that belongs to the copy, on the host or on the copy's own GPU."]
#[doc = "   An argument that is a structure brings the tensors of its leaves, one after another in the order of their paths. So"]
#[doc = "   @p argument_count counts tensors."]
#[doc = " - Each result set in @p results is a plain value, or a structure of plain values, that the function made and hands"]
#[doc = "   over, even if it fails."]
#[doc = " - It returns 0, or any other number to fail the update; mdist_error_native then gives the number."]
#[doc = " - It runs on the thread that called mdist_update."]
#[doc = " - It may call any function of cross-replica context. mdist_variable_assign writes only the copy at hand there."]
pub type mdist_update_fn = ::std::option::Option<
    unsafe extern "C" fn(
        local_replica: u32,
        copy: *const mdist_tensor_t,
        arguments: *const mdist_tensor_t,
        argument_count: usize,
        results: *mut *mut mdist_value_t,
        result_count: usize,
        user_data: *mut ::std::os::raw::c_void,
    ) -> i32,
>;
extern "C" {
    #[doc = " Calls @p update for each local copy, one after another (TensorFlow: StrategyExtended.update)."]
    #[doc = ""]
    #[doc = " It stops at the first failure. Copies that were already changed stay changed. In a step, call mdist_merge_call first."]
    #[doc = " @param io  timeout_ns must be 0. Results are the results of all copies, regrouped leaf by leaf as those of mdist_run."]
    #[doc = " @thread one at a time per strategy   @blocks until the last copy is done   @collective no"]
    #[doc = " @calls-back update, on this thread   @since 0.1"]
    pub fn mdist_update(
        variable: *mut mdist_variable_t,
        update: mdist_update_fn,
        user_data: *mut ::std::os::raw::c_void,
        io: *const mdist_run_io_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Calls @p update once per device of the strategy, with NULL for the copy."]
    #[doc = ""]
    #[doc = " Use it for state that belongs to no single variable, such as an optimizer's step counter. All else is as in"]
    #[doc = " mdist_update. (TensorFlow: StrategyExtended.update_non_slot, non_slot_devices.)"]
    #[doc = " @thread one at a time per strategy   @blocks until the last device is done   @collective no"]
    #[doc = " @calls-back update, on this thread   @since 0.1"]
    pub fn mdist_update_devices(
        strategy: *mut mdist_strategy_t,
        update: mdist_update_fn,
        user_data: *mut ::std::os::raw::c_void,
        io: *const mdist_run_io_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Destroys a handle; the last handle frees the variable and its place in the arenas."]
    #[doc = ""]
    #[doc = " The place is zeroed, and the next variable may take it. Addresses from mdist_variable_tensor are invalid from then"]
    #[doc = " on, so do not call this while a step uses the variable. NULL is ignored."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_variable_destroy(variable: *mut mdist_variable_t);
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mdist_checkpoint {
    _unused: [u8; 0],
}
pub type mdist_checkpoint_t = mdist_checkpoint;
#[doc = " Options of mdist_checkpoint_restore. NULL, or all zero except struct_size: restores everything."]
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mdist_restore_options {
    pub struct_size: u32,
    pub flags: u32,
    pub timeout_ns: u64,
}
#[test]
fn bindgen_test_layout_mdist_restore_options() {
    assert_eq!(
        ::std::mem::size_of::<mdist_restore_options>(),
        16usize,
        concat!("Size of: ", stringify!(mdist_restore_options))
    );
    assert_eq!(
        ::std::mem::align_of::<mdist_restore_options>(),
        8usize,
        concat!("Alignment of ", stringify!(mdist_restore_options))
    );
    fn test_field_struct_size() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_restore_options>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).struct_size) as usize - ptr as usize
            },
            0usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_restore_options),
                "::",
                stringify!(struct_size)
            )
        );
    }
    test_field_struct_size();
    fn test_field_flags() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_restore_options>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).flags) as usize - ptr as usize
            },
            4usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_restore_options),
                "::",
                stringify!(flags)
            )
        );
    }
    test_field_flags();
    fn test_field_timeout_ns() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_restore_options>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).timeout_ns) as usize - ptr as usize
            },
            8usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_restore_options),
                "::",
                stringify!(timeout_ns)
            )
        );
    }
    test_field_timeout_ns();
}
#[doc = " Options of mdist_checkpoint_restore. NULL, or all zero except struct_size: restores everything."]
pub type mdist_restore_options_t = mdist_restore_options;
extern "C" {
    #[doc = " Makes a checkpoint object that holds nothing yet. The call does not look at the folder."]
    #[doc = " @param folder  a folder on the host of rank 0; the first save makes it. Only one job at a time may use it"]
    #[doc = " @param keep    how many checkpoints of the list stay in the folder: a save removes those saved before the last"]
    #[doc = "                @p keep. 0: all stay"]
    #[doc = " @thread one at a time per strategy   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_checkpoint_create(
        strategy: *mut mdist_strategy_t,
        folder: *const ::std::os::raw::c_char,
        keep: u32,
        out: *mut *mut mdist_checkpoint_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Adds a variable (kept) of the same strategy to what is saved."]
    #[doc = ""]
    #[doc = " All workers must add the same variables, in any order."]
    #[doc = " @param name  the name in files, UTF-8; NULL: the variable's own name. Two variables may not share it"]
    #[doc = " @thread one at a time per strategy   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_checkpoint_add(
        checkpoint: *mut mdist_checkpoint_t,
        name: *const ::std::os::raw::c_char,
        variable: *mut mdist_variable_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Adds an iterator (kept), whose position is saved and restored together with the variables."]
    #[doc = ""]
    #[doc = " - Saving and restoring work as in mdist_iterator_save and mdist_iterator_restore. Either all iterators are restored,"]
    #[doc = "   or none."]
    #[doc = " - All workers must add the same names, in any order, each with its own iterator."]
    #[doc = " - When they save, all workers must have taken the same number of elements; otherwise saving fails with"]
    #[doc = "   MDIST_ERR_MISMATCH."]
    #[doc = " - No other call may use the iterator during a save or restore."]
    #[doc = ""]
    #[doc = " If a file lacks this iterator, or holds others, restoring fails with MDIST_ERR_MISMATCH, reason"]
    #[doc = " `different_variables`. With MDIST_RESTORE_PARTIAL, iterators that the file lacks stay where they are, and others in"]
    #[doc = " the file are ignored."]
    #[doc = " @param name  the name in files, UTF-8, not empty; two iterators may not share it"]
    #[doc = " @thread one at a time per strategy   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_checkpoint_add_iterator(
        checkpoint: *mut mdist_checkpoint_t,
        name: *const ::std::os::raw::c_char,
        iterator: *mut mdist_iterator_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Sets a text that is saved too. It replaces the text that @p key had."]
    #[doc = ""]
    #[doc = " The texts of the chief are saved. Restoring gives them to all workers."]
    #[doc = " @param key  UTF-8, not empty, not beginning with \"mdist.\""]
    #[doc = " @thread one at a time per strategy   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_checkpoint_set_text(
        checkpoint: *mut mdist_checkpoint_t,
        key: *const ::std::os::raw::c_char,
        text: *const ::std::os::raw::c_char,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Reads a text that was set or restored. @p text, @p capacity and @p needed work as in mdist_config_get."]
    #[doc = ""]
    #[doc = " It fails with MDIST_ERR_NOT_FOUND if @p key has no text."]
    #[doc = " @thread one at a time per strategy   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_checkpoint_text(
        checkpoint: *const mdist_checkpoint_t,
        key: *const ::std::os::raw::c_char,
        text: *mut ::std::os::raw::c_char,
        capacity: usize,
        needed: *mut usize,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Returns the number of texts that were set or restored; 0 for a bad handle."]
    #[doc = " @thread one at a time per strategy   @blocks no   @collective no   @calls-back never   @since 0.3"]
    pub fn mdist_checkpoint_text_count(checkpoint: *const mdist_checkpoint_t) -> usize;
}
extern "C" {
    #[doc = " Gives the key of text @p index, from 0, in the order of the keys' bytes."]
    #[doc = ""]
    #[doc = " @p text, @p capacity and @p needed work as in mdist_config_get."]
    #[doc = " @thread one at a time per strategy   @blocks no   @collective no   @calls-back never   @since 0.3"]
    pub fn mdist_checkpoint_text_key(
        checkpoint: *const mdist_checkpoint_t,
        index: usize,
        text: *mut ::std::os::raw::c_char,
        capacity: usize,
        needed: *mut usize,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Saves checkpoint @p number, which is the latest from then on. It replaces a checkpoint that has the same number."]
    #[doc = ""]
    #[doc = " Mirrored variables are saved as the chief's copy 0. Sync-on-read variables are saved as reduced over all replicas."]
    #[doc = ""]
    #[doc = " A failure is the same on all workers, and earlier checkpoints are still there. The strategy stays usable:"]
    #[doc = " - MDIST_ERR_IO: the disk is full or refuses. mdist_error_native gives errno."]
    #[doc = " - MDIST_ERR_FAILED_PRECONDITION: a sync-on-read variable has aggregation NONE."]
    #[doc = " - MDIST_ERR_FAILED_PRECONDITION, reason `busy`: another process is saving in the folder."]
    #[doc = " - MDIST_ERR_FAILED_PRECONDITION, reasons `unordered` and `closed`: an iterator cannot be saved."]
    #[doc = " - MDIST_ERR_MISMATCH: workers have different numbers, variables or iterators, or iterators at different positions."]
    #[doc = ""]
    #[doc = " @param number   at most 2^63 - 257; for example the number of the step or epoch"]
    #[doc = " @param options  timeout_ns must be long enough for the chief to write: the others wait for it"]
    #[doc = " @thread one at a time per strategy   @blocks until it is on the disk   @collective all workers   @calls-back never"]
    #[doc = " @since 0.1"]
    pub fn mdist_checkpoint_save(
        checkpoint: *mut mdist_checkpoint_t,
        number: u64,
        options: *const mdist_call_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Restores variables, iterators and texts from checkpoint @p number, on all workers."]
    #[doc = ""]
    #[doc = " - Mirrored variables: every copy gets the value."]
    #[doc = " - Sync-on-read variables: every copy gets the value. With aggregation SUM, each of N copies gets 1/N of it instead;"]
    #[doc = "   integers are truncated towards zero."]
    #[doc = " - Texts: those that the file lacks are removed."]
    #[doc = ""]
    #[doc = " A failure is the same on all workers, and nothing has changed then:"]
    #[doc = " - MDIST_ERR_NOT_FOUND, reason `no_checkpoint`: there is no such checkpoint."]
    #[doc = " - MDIST_ERR_DATA_LOSS: the file is damaged; the message says what is wrong."]
    #[doc = " - MDIST_ERR_MISMATCH, reason `different_variables`: the file and the checkpoint object do not fit. The message names"]
    #[doc = "   variables that are not in the file, tensors of the file that belong to no variable, and those of another dtype or"]
    #[doc = "   shape. With MDIST_RESTORE_PARTIAL, variables that are not in the file stay as they are, and tensors that belong to"]
    #[doc = "   no variable are ignored. Another dtype or shape still fails."]
    #[doc = ""]
    #[doc = " Exception: some variables may have changed if the file can be read once but not again, or if workers are lost"]
    #[doc = " meanwhile."]
    #[doc = " @param number    MDIST_LATEST takes the latest; the top of this header says which. Any other number need not be on"]
    #[doc = "                  the list: any safetensors file of that name will do"]
    #[doc = " @param restored  may be NULL; receives the number"]
    #[doc = " @thread one at a time per strategy   @blocks on the file, and until iterators have gone through their elements"]
    #[doc = " @collective all workers   @calls-back functions of iterators' datasets, as mdist_iterator_restore   @since 0.1"]
    pub fn mdist_checkpoint_restore(
        checkpoint: *mut mdist_checkpoint_t,
        number: u64,
        restored: *mut u64,
        options: *const mdist_restore_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Removes all checkpoints from the folder, also those that the list does not name. Call it when the training is done"]
    #[doc = " and the next one is to begin anew."]
    #[doc = ""]
    #[doc = " It does nothing if there are no checkpoints or no folder. The variables stay as they are. Errors:"]
    #[doc = " - MDIST_ERR_IO: some checkpoints cannot be removed."]
    #[doc = " - MDIST_ERR_FAILED_PRECONDITION, reason `busy`: another process is saving in the folder."]
    #[doc = " @thread one at a time per strategy   @blocks on the folder   @collective all workers   @calls-back never   @since 0.1"]
    pub fn mdist_checkpoint_clear(
        checkpoint: *mut mdist_checkpoint_t,
        options: *const mdist_call_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Finds the number of the checkpoint in @p folder that was saved last. It is for programs that only watch the folder."]
    #[doc = ""]
    #[doc = " It fails with MDIST_ERR_NOT_FOUND, reason `no_checkpoint`, if there is none."]
    #[doc = " @thread any   @blocks on the folder   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_checkpoint_latest(
        folder: *const ::std::os::raw::c_char,
        number: *mut u64,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Frees a checkpoint object and releases its variables and iterators. The files stay. NULL is fine."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_checkpoint_destroy(checkpoint: *mut mdist_checkpoint_t);
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mdist_cluster {
    _unused: [u8; 0],
}
pub type mdist_cluster_t = mdist_cluster;
pub const MDIST_TASK_NONE: mdist_task_type = 0;
pub const MDIST_TASK_CHIEF: mdist_task_type = 1;
pub const MDIST_TASK_WORKER: mdist_task_type = 2;
pub const MDIST_TASK_EVALUATOR: mdist_task_type = 3;
pub const MDIST_TASK_PS: mdist_task_type = 4;
pub const MDIST_TASK_TYPE_PIN_INT32: mdist_task_type = -2147483648;
pub type mdist_task_type = ::std::os::raw::c_int;
pub use self::mdist_task_type as mdist_task_type_t;
#[doc = " A task for mdist_cluster_create."]
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mdist_task {
    pub task_type: i32,
    pub task_index: u32,
    pub address: *const ::std::os::raw::c_char,
}
#[test]
fn bindgen_test_layout_mdist_task() {
    assert_eq!(
        ::std::mem::size_of::<mdist_task>(),
        16usize,
        concat!("Size of: ", stringify!(mdist_task))
    );
    assert_eq!(
        ::std::mem::align_of::<mdist_task>(),
        8usize,
        concat!("Alignment of ", stringify!(mdist_task))
    );
    fn test_field_task_type() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_task>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).task_type) as usize - ptr as usize
            },
            0usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_task),
                "::",
                stringify!(task_type)
            )
        );
    }
    test_field_task_type();
    fn test_field_task_index() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_task>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).task_index) as usize - ptr as usize
            },
            4usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_task),
                "::",
                stringify!(task_index)
            )
        );
    }
    test_field_task_index();
    fn test_field_address() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_task>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).address) as usize - ptr as usize
            },
            8usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_task),
                "::",
                stringify!(address)
            )
        );
    }
    test_field_address();
}
#[doc = " A task for mdist_cluster_create."]
pub type mdist_task_t = mdist_task;
#[doc = " What mdist_cluster_describe tells of a cluster."]
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mdist_cluster_info {
    pub struct_size: u32,
    pub task_counts: [u32; 5usize],
    pub task_type: i32,
    pub task_index: u32,
    pub leader_type: i32,
    pub leader_index: u32,
}
#[test]
fn bindgen_test_layout_mdist_cluster_info() {
    assert_eq!(
        ::std::mem::size_of::<mdist_cluster_info>(),
        40usize,
        concat!("Size of: ", stringify!(mdist_cluster_info))
    );
    assert_eq!(
        ::std::mem::align_of::<mdist_cluster_info>(),
        4usize,
        concat!("Alignment of ", stringify!(mdist_cluster_info))
    );
    fn test_field_struct_size() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_cluster_info>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).struct_size) as usize - ptr as usize
            },
            0usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_cluster_info),
                "::",
                stringify!(struct_size)
            )
        );
    }
    test_field_struct_size();
    fn test_field_task_counts() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_cluster_info>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).task_counts) as usize - ptr as usize
            },
            4usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_cluster_info),
                "::",
                stringify!(task_counts)
            )
        );
    }
    test_field_task_counts();
    fn test_field_task_type() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_cluster_info>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).task_type) as usize - ptr as usize
            },
            24usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_cluster_info),
                "::",
                stringify!(task_type)
            )
        );
    }
    test_field_task_type();
    fn test_field_task_index() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_cluster_info>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).task_index) as usize - ptr as usize
            },
            28usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_cluster_info),
                "::",
                stringify!(task_index)
            )
        );
    }
    test_field_task_index();
    fn test_field_leader_type() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_cluster_info>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).leader_type) as usize - ptr as usize
            },
            32usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_cluster_info),
                "::",
                stringify!(leader_type)
            )
        );
    }
    test_field_leader_type();
    fn test_field_leader_index() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_cluster_info>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).leader_index) as usize - ptr as usize
            },
            36usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_cluster_info),
                "::",
                stringify!(leader_index)
            )
        );
    }
    test_field_leader_index();
}
#[doc = " What mdist_cluster_describe tells of a cluster."]
pub type mdist_cluster_info_t = mdist_cluster_info;
#[doc = " What mdist_cluster_describe_task tells of a task. No text is NULL."]
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mdist_task_info {
    pub struct_size: u32,
    pub is_chief: i32,
    pub rank: u32,
    pub worker_count: u32,
    pub address: *const ::std::os::raw::c_char,
    pub master: *const ::std::os::raw::c_char,
}
#[test]
fn bindgen_test_layout_mdist_task_info() {
    assert_eq!(
        ::std::mem::size_of::<mdist_task_info>(),
        32usize,
        concat!("Size of: ", stringify!(mdist_task_info))
    );
    assert_eq!(
        ::std::mem::align_of::<mdist_task_info>(),
        8usize,
        concat!("Alignment of ", stringify!(mdist_task_info))
    );
    fn test_field_struct_size() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_task_info>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).struct_size) as usize - ptr as usize
            },
            0usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_task_info),
                "::",
                stringify!(struct_size)
            )
        );
    }
    test_field_struct_size();
    fn test_field_is_chief() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_task_info>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).is_chief) as usize - ptr as usize
            },
            4usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_task_info),
                "::",
                stringify!(is_chief)
            )
        );
    }
    test_field_is_chief();
    fn test_field_rank() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_task_info>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).rank) as usize - ptr as usize
            },
            8usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_task_info),
                "::",
                stringify!(rank)
            )
        );
    }
    test_field_rank();
    fn test_field_worker_count() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_task_info>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).worker_count) as usize - ptr as usize
            },
            12usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_task_info),
                "::",
                stringify!(worker_count)
            )
        );
    }
    test_field_worker_count();
    fn test_field_address() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_task_info>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).address) as usize - ptr as usize
            },
            16usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_task_info),
                "::",
                stringify!(address)
            )
        );
    }
    test_field_address();
    fn test_field_master() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_task_info>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).master) as usize - ptr as usize
            },
            24usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_task_info),
                "::",
                stringify!(master)
            )
        );
    }
    test_field_master();
}
#[doc = " What mdist_cluster_describe_task tells of a task. No text is NULL."]
pub type mdist_task_info_t = mdist_task_info;
extern "C" {
    #[doc = " Makes a cluster of @p count tasks, which may be 0. (TensorFlow: SimpleClusterResolver.)"]
    #[doc = ""]
    #[doc = " It fails with MDIST_ERR_CONFIG if a task is there twice, an address is malformed, or the cluster cannot have the own"]
    #[doc = " task. An evaluator need not be in the cluster."]
    #[doc = " @param own_type   which task this process is; MDIST_TASK_NONE: it is not known"]
    #[doc = " @param own_index  its index; 0 with MDIST_TASK_NONE"]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_cluster_create(
        tasks: *const mdist_task_t,
        count: usize,
        own_type: mdist_task_type_t,
        own_index: u32,
        out: *mut *mut mdist_cluster_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Finds the cluster that a strategy created from @p config would be in. NULL reads the environment instead."]
    #[doc = ""]
    #[doc = " If there is no cluster, it gives a cluster without tasks. It fails as mdist_strategy_create would, if sources"]
    #[doc = " contradict each other or cannot be used."]
    #[doc = " @thread any   @blocks on the config file if NULL   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_cluster_from_config(
        config: *const mdist_config_t,
        out: *mut *mut mdist_cluster_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Makes a cluster from a text like that of the variable TF_CONFIG, of at most 1 MiB. (TensorFlow:"]
    #[doc = " TFConfigClusterResolver.)"]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_cluster_from_tf_config(
        json: *const ::std::os::raw::c_char,
        length: usize,
        out: *mut *mut mdist_cluster_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Makes a cluster from the environment variables of a Slurm step."]
    #[doc = ""]
    #[doc = " - There are @p counts tasks of each of @p types. They are assigned to the tasks of the step in the order of the"]
    #[doc = "   types' names (chief, evaluator, ps, worker)."]
    #[doc = " - If @p job_count is 0, all tasks of the step are workers."]
    #[doc = " - The k-th task on a host, from 0, gets port @p port_base + k. A base of 0 means 8888."]
    #[doc = ""]
    #[doc = " (TensorFlow: SlurmClusterResolver, except that host names keep their leading zeros, and CUDA_VISIBLE_DEVICES is left"]
    #[doc = " alone.)"]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_cluster_from_slurm(
        types: *const mdist_task_type_t,
        counts: *const u32,
        job_count: usize,
        port_base: u32,
        out: *mut *mut mdist_cluster_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Joins several clusters into one."]
    #[doc = ""]
    #[doc = " Lists of the same type are put one after another. If a list has gaps, indices of that type stay as they are, and the"]
    #[doc = " same index twice is MDIST_ERR_CONFIG. The own task and the master are those of the first cluster. (TensorFlow:"]
    #[doc = " UnionResolver.)"]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_cluster_union(
        clusters: *const *const mdist_cluster_t,
        count: usize,
        out: *mut *mut mdist_cluster_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Counts the tasks of a cluster, and tells which of them this process and the leader are."]
    #[doc = ""]
    #[doc = " - The leader has rank 0 where this process trains: the chief, or else the first worker. (TensorFlow:"]
    #[doc = "   multi_worker_util.collective_leader)"]
    #[doc = " - It fails with MDIST_ERR_CONFIG if the cluster has two chiefs or two evaluators."]
    #[doc = " - The caller sets struct_size, and sets all other fields to 0."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.2"]
    pub fn mdist_cluster_describe(
        cluster: *const mdist_cluster_t,
        out: *mut mdist_cluster_info_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Describes one task. MDIST_TASK_NONE means the own task of this process; @p index is then ignored."]
    #[doc = ""]
    #[doc = " - It fails with MDIST_ERR_CONFIG if the cluster has no such task. An evaluator need not be in the cluster."]
    #[doc = " - It fails with MDIST_ERR_CONFIG, reason `no_task`, if the own task is asked about and is not known."]
    #[doc = " - The caller sets struct_size, and sets all other fields to 0."]
    #[doc = " - The texts of @p out live until the cluster is destroyed."]
    #[doc = ""]
    #[doc = " (TensorFlow: multi_worker_util.is_chief, worker_count, id_in_cluster; ClusterResolver.master)"]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.2"]
    pub fn mdist_cluster_describe_task(
        cluster: *const mdist_cluster_t,
        type_: mdist_task_type_t,
        index: u32,
        out: *mut mdist_task_info_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Describes, in lines for people, what was found and from where, and what was ignored and why."]
    #[doc = " @param text    receives at most @p capacity bytes, NUL included; a longer text is cut off"]
    #[doc = " @param needed  receives the full size in bytes, NUL included; may be NULL"]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_cluster_explain(
        cluster: *const mdist_cluster_t,
        text: *mut ::std::os::raw::c_char,
        capacity: usize,
        needed: *mut usize,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Replaces the keys cluster.* and task.* of a config with those of @p cluster."]
    #[doc = ""]
    #[doc = " It fails with MDIST_ERR_CONFIG if keys cannot express the cluster: lists with gaps or without addresses."]
    #[doc = " @thread one at a time per config   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_config_set_cluster(
        config: *mut mdist_config_t,
        cluster: *const mdist_cluster_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Frees a cluster. NULL is fine."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_cluster_destroy(cluster: *mut mdist_cluster_t);
}
extern "C" {
    #[doc = " Makes @p strategy the current strategy of this thread until mdist_scope_exit."]
    #[doc = ""]
    #[doc = " - Scopes of the same strategy nest. Inside a scope of another strategy: MDIST_ERR_FAILED_PRECONDITION, reason"]
    #[doc = "   `other_strategy`."]
    #[doc = " - In a step: MDIST_ERR_WRONG_CONTEXT."]
    #[doc = " - A scope that a merge or update function leaves open ends with the function. All scopes of a thread end with the"]
    #[doc = "   thread."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_scope_enter(
        strategy: *mut mdist_strategy_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Leaves the scope that this thread entered last."]
    #[doc = ""]
    #[doc = " That scope must be one of @p strategy, which may be destroyed already. Else it is MDIST_ERR_FAILED_PRECONDITION,"]
    #[doc = " reason `no_scope`, and nothing changes."]
    #[doc = " @thread the one that entered   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_scope_exit(
        strategy: *mut mdist_strategy_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Gives the strategy that this thread works for, as the table above says."]
    #[doc = ""]
    #[doc = " It is borrowed: do not destroy it. The call fails only if the library cannot create the default strategy, which is"]
    #[doc = " one CPU regardless of the environment."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_current_strategy(
        out: *mut *mut mdist_strategy_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Gives the replica that this thread works for, as the table above says; NULL in cross-replica context."]
    #[doc = ""]
    #[doc = " The replica is borrowed, for this thread only and only while it lives. The default strategy's replica is in a step"]
    #[doc = " that never ends. Its collectives and merges are those of one replica, and it has no arguments or results. After a"]
    #[doc = " failure in it, ask again."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_current_replica(
        out: *mut *mut mdist_replica_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Sets the default strategy of every thread that is in no step, function or scope; NULL restores the built-in default."]
    #[doc = ""]
    #[doc = " Inside a step, function or scope it is MDIST_ERR_WRONG_CONTEXT. When @p strategy is destroyed, the built-in default"]
    #[doc = " returns."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_set_default_strategy(
        strategy: *mut mdist_strategy_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Makes a dataset of int64 scalars: @p start, @p start + @p step ... up to @p stop, which is not included."]
    #[doc = ""]
    #[doc = " A negative step counts down."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_dataset_range(
        start: i64,
        stop: i64,
        step: i64,
        out: *mut *mut mdist_dataset_t,
        options: *const mdist_dataset_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
#[doc = " Makes element @p index of an iteration. It writes to @p outputs, whose memory is allocated already, with undefined"]
#[doc = " content."]
#[doc = ""]
#[doc = " Returns MDIST_OK, or MDIST_END if there is no such element. Any other number ends the iteration with"]
#[doc = " MDIST_ERR_CALLBACK, and mdist_error_native gives that number."]
#[doc = ""]
#[doc = " @p state is yours. It is NULL for index 0, which begins an iteration or an epoch of mdist_dataset_repeat. It keeps"]
#[doc = " what you store there for the calls that follow. Each iterator makes one call at a time. The function must not call"]
#[doc = " the iterator that it serves."]
pub type mdist_generate_fn = ::std::option::Option<
    unsafe extern "C" fn(
        index: u64,
        outputs: *const mdist_tensor_t,
        output_count: usize,
        state: *mut *mut ::std::os::raw::c_void,
        user_data: *mut ::std::os::raw::c_void,
    ) -> i32,
>;
extern "C" {
    #[doc = " Makes a dataset of elements that a function makes, one after the other."]
    #[doc = ""]
    #[doc = " The function runs on the thread that calls mdist_iterator_next. Anything that would run it on another thread fails"]
    #[doc = " with MDIST_ERR_FAILED_PRECONDITION, reason `callers_thread`: mdist_dataset_prefetch, mdist_dataset_map with"]
    #[doc = " `parallel_calls`, and fetch_to_device of input.h. MDIST_DATASET_ANY_THREAD allows it."]
    #[doc = " @param outputs     dtype and shape of each component; data is not read"]
    #[doc = " @param user_data   kept, together with the functions, until the dataset, those made from it and their iterators are"]
    #[doc = "                    gone"]
    #[doc = " @param free_state  receives a @p state that is not NULL when its iteration or epoch is over; may be NULL"]
    #[doc = " @thread any   @blocks no   @collective no"]
    #[doc = " @calls-back never in this call: generate later, as said, free_state and free_user_data, on any thread   @since 0.1"]
    pub fn mdist_dataset_from_generator(
        generate: mdist_generate_fn,
        user_data: *mut ::std::os::raw::c_void,
        free_user_data: mdist_free_fn,
        free_state: mdist_free_fn,
        outputs: *const mdist_tensor_t,
        output_count: usize,
        out: *mut *mut mdist_dataset_t,
        options: *const mdist_dataset_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Makes a dataset of the file names @p paths, in this order. It does not check whether the files exist: reading them"]
    #[doc = " does."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_dataset_files(
        paths: *const *const ::std::os::raw::c_char,
        count: usize,
        out: *mut *mut mdist_dataset_t,
        options: *const mdist_dataset_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Makes a dataset of the names of all files that match one of @p patterns (`*`, `?` and `[a-z]`, as in a shell)."]
    #[doc = ""]
    #[doc = " The names are looked up now and sorted by their bytes. A name that matches two patterns comes twice. To shuffle the"]
    #[doc = " names, use mdist_dataset_shuffle with a buffer of MDIST_FOREVER. If nothing matches, it fails with"]
    #[doc = " MDIST_ERR_NOT_FOUND."]
    #[doc = " @thread any   @blocks for the file system   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_dataset_match_files(
        patterns: *const *const ::std::os::raw::c_char,
        count: usize,
        out: *mut *mut mdist_dataset_t,
        options: *const mdist_dataset_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
pub const MDIST_COMPRESSION_NONE: mdist_compression = 0;
pub const MDIST_COMPRESSION_GZIP: mdist_compression = 1;
pub const MDIST_COMPRESSION_ZLIB: mdist_compression = 2;
pub const MDIST_COMPRESSION_PIN_INT32: mdist_compression = -2147483648;
#[doc = " How the bytes of a file are compressed."]
pub type mdist_compression = ::std::os::raw::c_int;
#[doc = " How the bytes of a file are compressed."]
pub use self::mdist_compression as mdist_compression_t;
pub const MDIST_ON_CORRUPT_FAIL: mdist_on_corrupt = 0;
pub const MDIST_ON_CORRUPT_SKIP: mdist_on_corrupt = 1;
pub const MDIST_ON_CORRUPT_PIN_INT32: mdist_on_corrupt = -2147483648;
#[doc = " What happens to a corrupt record."]
pub type mdist_on_corrupt = ::std::os::raw::c_int;
#[doc = " What happens to a corrupt record."]
pub use self::mdist_on_corrupt as mdist_on_corrupt_t;
#[doc = " Options for reading files. NULL, or all zero except struct_size: one file after the other, uncompressed."]
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mdist_read_options {
    pub struct_size: u32,
    pub flags: u32,
    pub compression: i32,
    pub on_corrupt: i32,
    pub cycle_length: u64,
    pub block_length: u64,
    pub max_record_bytes: u64,
    pub parallel_files: u64,
}
#[test]
fn bindgen_test_layout_mdist_read_options() {
    assert_eq!(
        ::std::mem::size_of::<mdist_read_options>(),
        48usize,
        concat!("Size of: ", stringify!(mdist_read_options))
    );
    assert_eq!(
        ::std::mem::align_of::<mdist_read_options>(),
        8usize,
        concat!("Alignment of ", stringify!(mdist_read_options))
    );
    fn test_field_struct_size() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_read_options>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).struct_size) as usize - ptr as usize
            },
            0usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_read_options),
                "::",
                stringify!(struct_size)
            )
        );
    }
    test_field_struct_size();
    fn test_field_flags() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_read_options>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).flags) as usize - ptr as usize
            },
            4usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_read_options),
                "::",
                stringify!(flags)
            )
        );
    }
    test_field_flags();
    fn test_field_compression() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_read_options>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).compression) as usize - ptr as usize
            },
            8usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_read_options),
                "::",
                stringify!(compression)
            )
        );
    }
    test_field_compression();
    fn test_field_on_corrupt() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_read_options>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).on_corrupt) as usize - ptr as usize
            },
            12usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_read_options),
                "::",
                stringify!(on_corrupt)
            )
        );
    }
    test_field_on_corrupt();
    fn test_field_cycle_length() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_read_options>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).cycle_length) as usize - ptr as usize
            },
            16usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_read_options),
                "::",
                stringify!(cycle_length)
            )
        );
    }
    test_field_cycle_length();
    fn test_field_block_length() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_read_options>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).block_length) as usize - ptr as usize
            },
            24usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_read_options),
                "::",
                stringify!(block_length)
            )
        );
    }
    test_field_block_length();
    fn test_field_max_record_bytes() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_read_options>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).max_record_bytes) as usize - ptr as usize
            },
            32usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_read_options),
                "::",
                stringify!(max_record_bytes)
            )
        );
    }
    test_field_max_record_bytes();
    fn test_field_parallel_files() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_read_options>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).parallel_files) as usize - ptr as usize
            },
            40usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_read_options),
                "::",
                stringify!(parallel_files)
            )
        );
    }
    test_field_parallel_files();
}
#[doc = " Options for reading files. NULL, or all zero except struct_size: one file after the other, uncompressed."]
pub type mdist_read_options_t = mdist_read_options;
extern "C" {
    #[doc = " Makes a dataset of the lines of text files."]
    #[doc = ""]
    #[doc = " A line does not include its line feed, nor a carriage return before it. The last line needs no line feed."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_dataset_text_lines(
        files: *const mdist_dataset_t,
        out: *mut *mut mdist_dataset_t,
        options: *const mdist_read_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Makes a dataset of records of @p record_bytes each. They lie between a header and a footer of each file."]
    #[doc = ""]
    #[doc = " If the bytes between header and footer are not a whole number of records, the file is corrupt."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_dataset_fixed_records(
        files: *const mdist_dataset_t,
        record_bytes: u64,
        header_bytes: u64,
        footer_bytes: u64,
        out: *mut *mut mdist_dataset_t,
        options: *const mdist_read_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Makes a dataset of the records of TFRecord files."]
    #[doc = ""]
    #[doc = " The checksums of length and data are verified. If records differ in length, use mdist_dataset_map before"]
    #[doc = " mdist_dataset_batch, or use mdist_dataset_padded_batch."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_dataset_tfrecords(
        files: *const mdist_dataset_t,
        out: *mut *mut mdist_dataset_t,
        options: *const mdist_read_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Tells how many corrupt records the sources of this iterator have left out so far."]
    #[doc = ""]
    #[doc = " This includes records left out while elements were made ahead, as under mdist_dataset_prefetch. A file whose rest"]
    #[doc = " could not be read counts as one."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_iterator_skipped(
        iterator: *const mdist_iterator_t,
        out: *mut u64,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mdist_record_writer {
    _unused: [u8; 0],
}
#[doc = " A TFRecord file that is being written."]
pub type mdist_record_writer_t = mdist_record_writer;
#[doc = " Options of a writer. NULL, or all zero except struct_size: no compression."]
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mdist_record_writer_options {
    pub struct_size: u32,
    pub compression: i32,
}
#[test]
fn bindgen_test_layout_mdist_record_writer_options() {
    assert_eq!(
        ::std::mem::size_of::<mdist_record_writer_options>(),
        8usize,
        concat!("Size of: ", stringify!(mdist_record_writer_options))
    );
    assert_eq!(
        ::std::mem::align_of::<mdist_record_writer_options>(),
        4usize,
        concat!("Alignment of ", stringify!(mdist_record_writer_options))
    );
    fn test_field_struct_size() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_record_writer_options>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).struct_size) as usize - ptr as usize
            },
            0usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_record_writer_options),
                "::",
                stringify!(struct_size)
            )
        );
    }
    test_field_struct_size();
    fn test_field_compression() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_record_writer_options>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).compression) as usize - ptr as usize
            },
            4usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_record_writer_options),
                "::",
                stringify!(compression)
            )
        );
    }
    test_field_compression();
}
#[doc = " Options of a writer. NULL, or all zero except struct_size: no compression."]
pub type mdist_record_writer_options_t = mdist_record_writer_options;
extern "C" {
    #[doc = " Begins a TFRecord file."]
    #[doc = ""]
    #[doc = " The file has another name in the same folder until mdist_record_writer_close. So @p path always holds either what was"]
    #[doc = " there before or the whole new file, even after a crash. (TensorFlow: TFRecordWriter.)"]
    #[doc = " @thread any   @blocks for the file system   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_record_writer_create(
        path: *const ::std::os::raw::c_char,
        out: *mut *mut mdist_record_writer_t,
        options: *const mdist_record_writer_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Adds a record to the file."]
    #[doc = ""]
    #[doc = " A writer that fails returns the same error from then on. For example, a full disk is MDIST_ERR_IO, and"]
    #[doc = " mdist_error_native gives errno."]
    #[doc = " @param data  may be NULL if @p bytes is 0: a record may be empty"]
    #[doc = " @thread any   @blocks for the file system   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_record_writer_write(
        writer: *mut mdist_record_writer_t,
        data: *const ::std::os::raw::c_void,
        bytes: usize,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Ends the file, flushes it to the disk and gives it its name."]
    #[doc = ""]
    #[doc = " Writing afterwards fails with MDIST_ERR_FAILED_PRECONDITION, reason `closed`. Closing again does nothing."]
    #[doc = " @thread any   @blocks until the disk has it   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_record_writer_close(
        writer: *mut mdist_record_writer_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Frees a writer. Removes the file if it was not closed. NULL is fine."]
    #[doc = " @thread any   @blocks for the file system   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_record_writer_destroy(writer: *mut mdist_record_writer_t);
}
#[doc = " Decides whether an element stays: sets @p keep, which is 0 at first, to non-zero to keep it. Return values and"]
#[doc = " threads are as in mdist_map_fn."]
pub type mdist_filter_fn = ::std::option::Option<
    unsafe extern "C" fn(
        inputs: *const mdist_tensor_t,
        input_count: usize,
        keep: *mut i32,
        user_data: *mut ::std::os::raw::c_void,
    ) -> i32,
>;
extern "C" {
    #[doc = " Keeps only the elements that @p filter keeps."]
    #[doc = " @param user_data  kept, together with @p filter, until the dataset, those made from it and their iterators are gone"]
    #[doc = " @thread any   @blocks no   @collective no"]
    #[doc = " @calls-back never in this call: filter later, as its type says, and free_user_data, on any thread   @since 0.1"]
    pub fn mdist_dataset_filter(
        source: *const mdist_dataset_t,
        filter: mdist_filter_fn,
        user_data: *mut ::std::os::raw::c_void,
        free_user_data: mdist_free_fn,
        out: *mut *mut mdist_dataset_t,
        options: *const mdist_dataset_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Keeps the first @p count elements, or all if there are fewer."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_dataset_take(
        source: *const mdist_dataset_t,
        count: u64,
        out: *mut *mut mdist_dataset_t,
        options: *const mdist_dataset_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Leaves out the first @p count elements."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_dataset_skip(
        source: *const mdist_dataset_t,
        count: u64,
        out: *mut *mut mdist_dataset_t,
        options: *const mdist_dataset_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Gives the elements of @p first, then those of @p second."]
    #[doc = ""]
    #[doc = " Their components must agree in number, dtype and rank; otherwise it fails with MDIST_ERR_MISMATCH."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_dataset_concatenate(
        first: *const mdist_dataset_t,
        second: *const mdist_dataset_t,
        out: *mut *mut mdist_dataset_t,
        options: *const mdist_dataset_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Joins datasets side by side: element i has the components of element i of each of @p sources, in this order. It ends"]
    #[doc = " with the shortest source."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_dataset_zip(
        sources: *const *const mdist_dataset_t,
        source_count: usize,
        out: *mut *mut mdist_dataset_t,
        options: *const mdist_dataset_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Keeps elements in memory, so that later iterations need not compute them again."]
    #[doc = ""]
    #[doc = " The first iteration or epoch that reaches its end fills the cache. Later ones get the elements from memory, in the"]
    #[doc = " same order, as long as the dataset or anything made from it lives. An iteration that does not reach its end caches"]
    #[doc = " nothing."]
    #[doc = ""]
    #[doc = " Shuffles below the cache give their first order in every iteration, also before the cache is full. When it becomes"]
    #[doc = " full may depend on threads: mdist_dataset_prefetch above reads ahead."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_dataset_cache(
        source: *const mdist_dataset_t,
        out: *mut *mut mdist_dataset_t,
        options: *const mdist_dataset_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Joins elements into batches as mdist_dataset_batch does, but pads elements of different shapes to the same shape."]
    #[doc = " Padding goes to the end of every dimension."]
    #[doc = " @param paddings  NULL: pads each dimension with zeros, up to the longest of the batch. Otherwise one tensor for each"]
    #[doc = "                  component, of its dtype and rank. Its shape gives the size to which each dimension is padded;"]
    #[doc = "                  MDIST_UNKNOWN_LENGTH means the longest of the batch. Its data points to one element of the dtype,"]
    #[doc = "                  the padding value (copied), or is NULL for zero. An element that is larger than this size fails"]
    #[doc = "                  the iteration with MDIST_ERR_MISMATCH"]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_dataset_padded_batch(
        source: *const mdist_dataset_t,
        batch_size: u64,
        paddings: *const mdist_tensor_t,
        padding_count: usize,
        out: *mut *mut mdist_dataset_t,
        options: *const mdist_dataset_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Makes each row of each element an element of its own."]
    #[doc = ""]
    #[doc = " All components must have a first dimension of the same size; otherwise it fails with MDIST_ERR_MISMATCH."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_dataset_unbatch(
        source: *const mdist_dataset_t,
        out: *mut *mut mdist_dataset_t,
        options: *const mdist_dataset_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Cuts the rows of all elements, taken as one sequence, into new batches of the sizes @p batch_sizes, again and again"]
    #[doc = " in this order."]
    #[doc = ""]
    #[doc = " A size of 0 gives a batch of no rows, without waiting for more rows. The last batch may be shorter. With"]
    #[doc = " MDIST_DATASET_DROP_REMAINDER, a shorter last batch is left out. All components must have a first dimension of the"]
    #[doc = " same size; otherwise it fails with MDIST_ERR_MISMATCH."]
    #[doc = " @param batch_sizes  copied; at least one of them is not 0"]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_dataset_rebatch(
        source: *const mdist_dataset_t,
        batch_sizes: *const u64,
        size_count: usize,
        out: *mut *mut mdist_dataset_t,
        options: *const mdist_dataset_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct DLManagedTensor {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct DLManagedTensorVersioned {
    _unused: [u8; 0],
}
#[doc = " A tensor in one of the two layouts. The other pointer is NULL."]
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mdist_dlpack {
    pub plain: *mut DLManagedTensor,
    pub versioned: *mut DLManagedTensorVersioned,
}
#[test]
fn bindgen_test_layout_mdist_dlpack() {
    assert_eq!(
        ::std::mem::size_of::<mdist_dlpack>(),
        16usize,
        concat!("Size of: ", stringify!(mdist_dlpack))
    );
    assert_eq!(
        ::std::mem::align_of::<mdist_dlpack>(),
        8usize,
        concat!("Alignment of ", stringify!(mdist_dlpack))
    );
    fn test_field_plain() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_dlpack>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).plain) as usize - ptr as usize
            },
            0usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_dlpack),
                "::",
                stringify!(plain)
            )
        );
    }
    test_field_plain();
    fn test_field_versioned() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_dlpack>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).versioned) as usize - ptr as usize
            },
            8usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_dlpack),
                "::",
                stringify!(versioned)
            )
        );
    }
    test_field_versioned();
}
#[doc = " A tensor in one of the two layouts. The other pointer is NULL."]
pub type mdist_dlpack_t = mdist_dlpack;
extern "C" {
    #[doc = " Makes a plain value around the memory of the tensor in @p managed (kept, not copied)."]
    #[doc = ""]
    #[doc = " - The memory must not change as long as anything may read the value."]
    #[doc = " - On success the library owns the tensor. It calls the deleter once, when the last reference is dropped. Like a"]
    #[doc = "   free_user_data, the deleter must not call the library, throw, or end its thread."]
    #[doc = " - On failure the tensor is still yours and unchanged."]
    #[doc = " - If the deleter is NULL, the tensor is not needed after the call. The memory must stay valid as for"]
    #[doc = "   mdist_value_wrap."]
    #[doc = " - From a Python capsule: take the pointer, and on success rename the capsule to \"used_dltensor\", or"]
    #[doc = "   \"used_dltensor_versioned\"."]
    #[doc = " @thread any   @blocks no   @collective no"]
    #[doc = " @calls-back the deleter, on the thread that drops the last reference   @since 0.1"]
    pub fn mdist_value_from_dlpack(
        managed: *const mdist_dlpack_t,
        out: *mut *mut mdist_value_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Describes another library's dense tensor as a buffer, whatever the order of its strides."]
    #[doc = ""]
    #[doc = " A tensor is dense if its elements fill its memory without gaps, for example PyTorch's channels_last or a transposed"]
    #[doc = " matrix. The buffer has the elements in the order of memory. Collectives that work element by element take it:"]
    #[doc = " mdist_all_reduce, mdist_reduce_to_root, mdist_broadcast, mdist_strategy_all_reduce. All replicas must have the same"]
    #[doc = " order, else the call is MDIST_ERR_MISMATCH. Collectives that join or cut buffers refuse any order but row-major:"]
    #[doc = " MDIST_ERR_INVALID_ARGUMENT."]
    #[doc = ""]
    #[doc = " The tensor stays yours, and must keep the memory while the buffer is used. One that is not dense is"]
    #[doc = " MDIST_ERR_UNSUPPORTED, reason `dlpack_strides`."]
    #[doc = " @param out  receives address, elements, type, and the order in `reserved`, which is 0 if it is row-major"]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.2"]
    pub fn mdist_buffer_from_dlpack(
        managed: *const mdist_dlpack_t,
        out: *mut mdist_buffer_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Exports tensor @p index of a value to another library, with its strides written out."]
    #[doc = ""]
    #[doc = " - The memory is shared. It stays until that library calls the deleter of the tensor, from any thread, even if the"]
    #[doc = "   value is destroyed before. Exception: memory given to mdist_value_wrap without free_user_data stays only as long as"]
    #[doc = "   its owner keeps it."]
    #[doc = " - Only read the memory. Values never change. The layout with a version says so, the other one cannot."]
    #[doc = " @param max_major  the newest major version of DLPack that the other library reads, as for `max_version` of Python's"]
    #[doc = "                   `__dlpack__`. From 1: the layout with a version, 1.0. 0: the plain one"]
    #[doc = " @param out        receives the tensor in that layout, and NULL for the other one"]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_value_to_dlpack(
        value: *const mdist_value_t,
        index: usize,
        max_major: u32,
        out: *mut mdist_dlpack_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
pub const MDIST_VERDICT_GO_ON: mdist_verdict = 0;
pub const MDIST_VERDICT_SAVE: mdist_verdict = 1;
pub const MDIST_VERDICT_END: mdist_verdict = 2;
pub const MDIST_VERDICT_REGROUP: mdist_verdict = 3;
pub const MDIST_VERDICT_PIN_INT32: mdist_verdict = -2147483648;
#[doc = " What all workers do next. Jobs of fixed size never get MDIST_VERDICT_REGROUP."]
pub type mdist_verdict = ::std::os::raw::c_int;
#[doc = " What all workers do next. Jobs of fixed size never get MDIST_VERDICT_REGROUP."]
pub use self::mdist_verdict as mdist_verdict_t;
extern "C" {
    #[doc = " Says that this worker must leave."]
    #[doc = ""]
    #[doc = " It is safe in a signal handler, as long as no other thread destroys the strategy meanwhile: take the signal from the"]
    #[doc = " handler before you destroy it. SIG_IGN is best, since the signal may come again. Only the first call counts. A bad"]
    #[doc = " handle is ignored."]
    #[doc = ""]
    #[doc = " In an elastic job whose other workers are enough to go on, the worker then leaves with the next regroup, which fails"]
    #[doc = " for it with MDIST_ERR_ABORTED, reason `dismissed`, and no step is lost."]
    #[doc = " @param grace_ns  time from now to the end of the machine; 0: end at once"]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.3"]
    pub fn mdist_membership_leave(strategy: *mut mdist_strategy_t, grace_ns: u64);
}
extern "C" {
    #[doc = " Asks all workers what to do next. All get the same answer."]
    #[doc = ""]
    #[doc = " - REGROUP, in an elastic job: newcomers wait and the job has room for them. Or the launcher has asked a worker to"]
    #[doc = "   leave. Or workers have said that they leave, and the others are at least `elastic.min_workers`. After the last"]
    #[doc = "   step, too, a newcomer may wait: look at mdist_change_t::step before you make another step."]
    #[doc = " - Else, if no worker has said that it leaves, GO_ON."]
    #[doc = " - Else, if one leaves without grace, END."]
    #[doc = " - Else the first answer is SAVE, and later ones are GO_ON. As soon as the time left to one of them is at most twice"]
    #[doc = "   the longest time between two of its checks, the answer is END."]
    #[doc = ""]
    #[doc = " With several workers the call costs a small exchange between them. With one worker it costs next to nothing."]
    #[doc = " @param verdict  receives an mdist_verdict_t"]
    #[doc = " @param rank     receives the rank of the worker that has said that it leaves, the lowest if several did; MDIST_NONE:"]
    #[doc = "                 no worker. May be NULL."]
    #[doc = " @thread one at a time per strategy   @blocks for the other workers   @collective all workers"]
    #[doc = " @calls-back never   @since 0.3"]
    pub fn mdist_membership_check(
        strategy: *mut mdist_strategy_t,
        verdict: *mut i32,
        rank: *mut u32,
        options: *const mdist_call_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Returns 1 if this worker is a newcomer to an elastic job that is at work, and has not called mdist_regroup yet."]
    #[doc = ""]
    #[doc = " Until then, what it creates is not compared with the other workers, and runs and collectives fail with"]
    #[doc = " MDIST_ERR_FAILED_PRECONDITION, reason `joining`. It must create what the others have created, in the same order."]
    #[doc = " Its devices are CPUs until then, also if it has GPUs."]
    #[doc = " Returns 0 for any other strategy, and for a bad handle."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.2"]
    pub fn mdist_strategy_is_joining(strategy: *const mdist_strategy_t) -> i32;
}
#[doc = " What has changed with a regroup. Set struct_size before the call."]
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mdist_change {
    pub struct_size: u32,
    pub generation: u32,
    pub step: u64,
    pub rank: u32,
    pub worker_count: u32,
    pub first_replica_id: u32,
    pub local_replica_count: u32,
}
#[test]
fn bindgen_test_layout_mdist_change() {
    assert_eq!(
        ::std::mem::size_of::<mdist_change>(),
        32usize,
        concat!("Size of: ", stringify!(mdist_change))
    );
    assert_eq!(
        ::std::mem::align_of::<mdist_change>(),
        8usize,
        concat!("Alignment of ", stringify!(mdist_change))
    );
    fn test_field_struct_size() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_change>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).struct_size) as usize - ptr as usize
            },
            0usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_change),
                "::",
                stringify!(struct_size)
            )
        );
    }
    test_field_struct_size();
    fn test_field_generation() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_change>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).generation) as usize - ptr as usize
            },
            4usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_change),
                "::",
                stringify!(generation)
            )
        );
    }
    test_field_generation();
    fn test_field_step() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_change>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).step) as usize - ptr as usize
            },
            8usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_change),
                "::",
                stringify!(step)
            )
        );
    }
    test_field_step();
    fn test_field_rank() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_change>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).rank) as usize - ptr as usize
            },
            16usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_change),
                "::",
                stringify!(rank)
            )
        );
    }
    test_field_rank();
    fn test_field_worker_count() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_change>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).worker_count) as usize - ptr as usize
            },
            20usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_change),
                "::",
                stringify!(worker_count)
            )
        );
    }
    test_field_worker_count();
    fn test_field_first_replica_id() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_change>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).first_replica_id) as usize - ptr as usize
            },
            24usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_change),
                "::",
                stringify!(first_replica_id)
            )
        );
    }
    test_field_first_replica_id();
    fn test_field_local_replica_count() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_change>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).local_replica_count) as usize - ptr as usize
            },
            28usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_change),
                "::",
                stringify!(local_replica_count)
            )
        );
    }
    test_field_local_replica_count();
}
#[doc = " What has changed with a regroup. Set struct_size before the call."]
pub type mdist_change_t = mdist_change;
extern "C" {
    #[doc = " Keeps a copy of the state in memory, for mdist_regroup to go back to."]
    #[doc = ""]
    #[doc = " The library makes the first commit itself, before the first run, with step 0 and all iterators at their beginning. A"]
    #[doc = " program that has taken more elements by then calls mdist_commit before its first run instead."]
    #[doc = ""]
    #[doc = " A new commit takes the place of the one before as soon as all workers have it. What belongs to one replica"]
    #[doc = " (sync-on-read variables, blobs) also goes to `elastic.copies` other workers. Mirrored variables must be equal on all"]
    #[doc = " replicas."]
    #[doc = ""]
    #[doc = " Errors:"]
    #[doc = " - MDIST_ERR_FAILED_PRECONDITION: the job is not elastic (reason `not_elastic`), a run or merge is open (`open_run`),"]
    #[doc = "   or this worker is a newcomer (`joining`)."]
    #[doc = " - MDIST_ERR_MISMATCH: the workers have not created the same, or pass other steps."]
    #[doc = " - MDIST_ERR_CALLBACK: a blob's function failed on some worker. The call fails on all workers in the same words. The"]
    #[doc = "   commit before stays, no worker counts as lost, and the job goes on."]
    #[doc = " - As mdist_all_reduce, if workers are lost. Then mdist_regroup restores this commit or the one before."]
    #[doc = " @param step  number of steps done so far, or any other number that tells the program where to go on; the same on all"]
    #[doc = "              workers"]
    #[doc = " @thread one at a time per strategy, outside of steps and merges   @blocks for the other workers"]
    #[doc = " @collective all workers   @calls-back the blobs' save functions   @since 0.2"]
    pub fn mdist_commit(
        strategy: *mut mdist_strategy_t,
        step: u64,
        options: *const mdist_call_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Forms the next generation of the job, and restores the newest commit of which all is left."]
    #[doc = ""]
    #[doc = " Call it when a call has failed because of a lost worker, when mdist_membership_check says so, and on a newcomer"]
    #[doc = " before its first step. It returns when all workers of the generation have restored the commit and made it anew. If"]
    #[doc = " workers are lost meanwhile, it begins again."]
    #[doc = ""]
    #[doc = " Errors:"]
    #[doc = " - MDIST_ERR_FAILED_PRECONDITION: the job is not elastic (`not_elastic`), a run or merge is open (`open_run`), or what"]
    #[doc = "   failed was no loss of a worker (`not_a_loss`)."]
    #[doc = " - MDIST_ERR_DATA_LOSS, `replica_lost`: the state of some replicas is lost. The message names them."]
    #[doc = " - MDIST_ERR_ABORTED, `old_generation`: the job goes on without this worker, which was silent too long. `no_store`:"]
    #[doc = "   the store cannot be reached. `unreachable`: the worker cannot connect with the others. `no_commit`: there was no"]
    #[doc = "   commit yet. `dismissed`: this worker has left, as it"]
    #[doc = "   said or as its launcher asked. `dropped`: others waited for this worker, and"]
    #[doc = "   it did not call mdist_regroup in time."]
    #[doc = " - MDIST_ERR_TIMEOUT, `too_few_workers`: fewer than `elastic.min_workers` came within `elastic.wait`."]
    #[doc = " - MDIST_ERR_MISMATCH, `different_program`: this newcomer has not created what the job has."]
    #[doc = " - MDIST_ERR_DEVICE, or MDIST_ERR_TIMEOUT with reason `gpu_timeout`: a GPU of this worker has failed, or does not end"]
    #[doc = "   its work. MDIST_ERR_OUT_OF_MEMORY: it has no room for the replicas that the worker gets."]
    #[doc = " - Reason `too_many_losses`: more than `elastic.max_losses_per_commit` losses without a new commit."]
    #[doc = " After any of them but MDIST_ERR_FAILED_PRECONDITION this worker is out of the job."]
    #[doc = " @param change   receives what has changed; may be NULL"]
    #[doc = " @param options  their timeout_ns limits each wait for the next generation; 0: `communication.join_timeout`"]
    #[doc = " @thread one at a time per strategy, outside of steps and merges; meanwhile other threads may call only"]
    #[doc = " mdist_strategy_abort, mdist_strategy_check_health and mdist_strategy_destroy"]
    #[doc = " @blocks for the other workers   @collective all workers   @calls-back the blobs' restore and save functions,"]
    #[doc = " and those of datasets   @since 0.2"]
    pub fn mdist_regroup(
        strategy: *mut mdist_strategy_t,
        change: *mut mdist_change_t,
        options: *const mdist_call_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mdist_blob {
    _unused: [u8; 0],
}
pub type mdist_blob_t = mdist_blob;
#[doc = " Copies the state of a replica to @p to. Returns 0; anything else is a failure."]
pub type mdist_blob_save_fn = ::std::option::Option<
    unsafe extern "C" fn(
        replica_id: u32,
        to: *mut ::std::os::raw::c_void,
        bytes: usize,
        user_data: *mut ::std::os::raw::c_void,
    ) -> i32,
>;
#[doc = " Takes the state of a replica back from @p from. Returns 0; anything else is a failure."]
pub type mdist_blob_restore_fn = ::std::option::Option<
    unsafe extern "C" fn(
        replica_id: u32,
        from: *const ::std::os::raw::c_void,
        bytes: usize,
        user_data: *mut ::std::os::raw::c_void,
    ) -> i32,
>;
extern "C" {
    #[doc = " Registers state that the program has for each replica, such as a random generator, so that commits keep it."]
    #[doc = ""]
    #[doc = " mdist_commit, the first run and mdist_regroup call @p save once for each local replica. mdist_regroup first calls"]
    #[doc = " @p restore. Both are called on the thread that made the call. All workers register the same blobs. In a job of fixed"]
    #[doc = " size nothing calls them."]
    #[doc = ""]
    #[doc = " Errors: MDIST_ERR_INVALID_ARGUMENT, among others for a name that a living blob has, and if the blobs of a replica"]
    #[doc = " together are larger than memory can be."]
    #[doc = " @param name            unique within the strategy"]
    #[doc = " @param bytes           size of the state of one replica"]
    #[doc = " @param free_user_data  called when the blob is gone, or at once if this fails; may be NULL"]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back free_user_data   @since 0.2"]
    pub fn mdist_blob_create(
        strategy: *mut mdist_strategy_t,
        name: *const ::std::os::raw::c_char,
        bytes: usize,
        save: mdist_blob_save_fn,
        restore: mdist_blob_restore_fn,
        user_data: *mut ::std::os::raw::c_void,
        free_user_data: mdist_free_fn,
        out: *mut *mut mdist_blob_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Frees a blob: later commits do not keep it. All workers destroy it between the same two commits. NULL is ignored."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back free_user_data   @since 0.2"]
    pub fn mdist_blob_destroy(blob: *mut mdist_blob_t);
}
extern "C" {
    #[doc = " Counts the GPUs that this process can use, and describes them in words. If there are none, the text says why: the"]
    #[doc = " library has no module for them, there is no driver, or there is no card. Having none is no error."]
    #[doc = ""]
    #[doc = " The first call loads the module and asks CUDA. Do not make it before a fork() whose child uses GPUs: CUDA does not"]
    #[doc = " survive a fork."]
    #[doc = " @param text    may be NULL; receives one line for each GPU and one about NCCL (the call loads NCCL for this), or the"]
    #[doc = "                reason why there are no GPUs. The text is cut off at @p capacity bytes and always ends in NUL"]
    #[doc = " @param needed  may be NULL; receives the size of the full text in bytes, NUL included"]
    #[doc = " @thread any   @blocks until CUDA has answered, once   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_gpu_count(
        count: *mut u32,
        text: *mut ::std::os::raw::c_char,
        capacity: usize,
        needed: *mut usize,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Gives the stream of a replica (a cudaStream_t), for kernels of its step. It is NULL for a replica on the CPU."]
    #[doc = ""]
    #[doc = " The stream stays the same for the life of the strategy, unless mdist_replica_use_stream sets another."]
    #[doc = " @thread replica   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_replica_stream(
        replica: *mut mdist_replica_t,
        stream: *mut *mut ::std::os::raw::c_void,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Makes the library work on a stream of yours until the step ends. The stream is a cudaStream_t of the replica's GPU."]
    #[doc = ""]
    #[doc = " Work on it begins behind everything that the library's stream has been given so far. NULL returns to the library's"]
    #[doc = " own stream, behind what is on yours. Destroy your stream only after the step."]
    #[doc = " @thread replica   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_replica_use_stream(
        replica: *mut mdist_replica_t,
        stream: *mut ::std::os::raw::c_void,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Copies a tensor to another of the same type and shape, wherever the two lie. The copy is done on return."]
    #[doc = ""]
    #[doc = " It is not ordered with work that a step has put on a stream. In a step use mdist_replica_copy."]
    #[doc = " @param to  its memory is written; the two ranges are the same or do not overlap"]
    #[doc = " @thread any   @blocks for the copy   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_tensor_copy(
        to: *const mdist_tensor_t,
        from: *const mdist_tensor_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Copies a tensor in a step, behind everything that the replica's stream has been given."]
    #[doc = ""]
    #[doc = " If one of the two lies on the host, the copy is done on return. Otherwise it is done in its turn on the stream."]
    #[doc = " @thread replica   @blocks for a copy from or to the host   @collective no   @calls-back never"]
    #[doc = " @since 0.1"]
    pub fn mdist_replica_copy(
        replica: *mut mdist_replica_t,
        to: *const mdist_tensor_t,
        from: *const mdist_tensor_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Records a part of a step as a CUDA graph, so that it costs less to start from the second time on."]
    #[doc = ""]
    #[doc = " The first call with a key calls @p body, records what it puts on the replica's stream, and launches that as a graph."]
    #[doc = " Later calls with the key launch the graph and do not call @p body."]
    #[doc = ""]
    #[doc = " - Kernels, copies and collectives keep the addresses and numbers with which they were recorded. To use other data,"]
    #[doc = "   change what lies at these addresses."]
    #[doc = " - Memory of the GPU that the body gets or gives back stays with the graph. It is released when the graph is"]
    #[doc = "   forgotten, or with the strategy."]
    #[doc = " - All replicas must make the same calls with the same keys in the same order, and forget the same keys. A collective"]
    #[doc = "   that some record and others call as usual is MDIST_ERR_MISMATCH."]
    #[doc = ""]
    #[doc = " The part is recorded only if all of these hold. Otherwise, for example on the CPU, every call calls @p body:"]
    #[doc = " - The replica is on a GPU. It is the only replica of the job, or NCCL connects all of them: then each has a GPU of"]
    #[doc = "   its own."]
    #[doc = " - `gpu.blocking` is not set."]
    #[doc = ""]
    #[doc = " Nothing in the body has happened before the graph is launched. Therefore anything that would wait there fails with"]
    #[doc = " MDIST_ERR_WRONG_CONTEXT, reason `recording`: copies from and to the host, merges, another stream, another graph. So"]
    #[doc = " do barriers, messages, collectives of memory of the host or of a group, and reductions that NCCL does not have. In"]
    #[doc = " that case, and if the body fails on some replica, nothing is recorded or done on any, and the run fails."]
    #[doc = " @param key   any number; each replica has one graph for each key"]
    #[doc = " @param body  puts work on the stream, and waits for the collectives that it starts. Returns 0, or any other number to"]
    #[doc = "              fail, which mdist_error_native then gives. NULL: forgets the graph"]
    #[doc = " @thread replica   @blocks until the other replicas have come, if there are any   @collective all replicas"]
    #[doc = " @calls-back body, on this thread   @since 0.1"]
    pub fn mdist_replica_graph(
        replica: *mut mdist_replica_t,
        key: u64,
        body: mdist_step_fn,
        user_data: *mut ::std::os::raw::c_void,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Begins a part of a step that is recorded as a CUDA graph; mdist_replica_graph_end ends it. It is mdist_replica_graph"]
    #[doc = " without a function to call back, and all that is said there holds here too:"]
    #[doc = ""]
    #[doc = "     int32_t record = 0;"]
    #[doc = "     mdist_replica_graph_begin(replica, 7, &record, NULL);"]
    #[doc = "     if (record) put_work_on_the_stream(replica);"]
    #[doc = "     mdist_replica_graph_end(replica, NULL); // launches the graph, if the part is recorded"]
    #[doc = ""]
    #[doc = " A replica has one such part at a time. If its step ends within the part, nothing is recorded or done, and the run"]
    #[doc = " fails (`work_under_way`)."]
    #[doc = " @param record  receives 1 if the step must put the part's work on the stream: the first time, and each time where"]
    #[doc = "                nothing is recorded, for example on the CPU. 0: the graph is there already"]
    #[doc = " @thread replica   @blocks no   @collective all replicas   @calls-back never   @since 0.2"]
    pub fn mdist_replica_graph_begin(
        replica: *mut mdist_replica_t,
        key: u64,
        record: *mut i32,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Ends the part that mdist_replica_graph_begin began, and launches its graph. Before that, wait for the collectives"]
    #[doc = " that the part has started."]
    #[doc = ""]
    #[doc = " If a call in the part was refused (`recording`), this fails in the same way, and nothing is recorded or done."]
    #[doc = " @thread replica   @blocks until the other replicas have come, if there are any   @collective all replicas"]
    #[doc = " @calls-back never   @since 0.2"]
    pub fn mdist_replica_graph_end(
        replica: *mut mdist_replica_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Allocates page-locked memory of the host, filled with zeros. GPUs copy from and to it at full speed."]
    #[doc = ""]
    #[doc = " If there are no GPUs, it is ordinary memory. It is yours until mdist_free."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_alloc_pinned(
        bytes: usize,
        out: *mut *mut ::std::os::raw::c_void,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mdist_gradients {
    _unused: [u8; 0],
}
pub type mdist_gradients_t = mdist_gradients;
pub const MDIST_GRADIENTS_ZERO_MISSING: mdist_gradients_flags = 1;
pub const MDIST_GRADIENTS_ZERO_NONFINITE: mdist_gradients_flags = 2;
pub const MDIST_GRADIENTS_NO_NORM: mdist_gradients_flags = 4;
pub const MDIST_GRADIENTS_FLAGS_PIN_INT32: mdist_gradients_flags = -2147483648;
pub type mdist_gradients_flags = ::std::os::raw::c_int;
pub use self::mdist_gradients_flags as mdist_gradients_flags_t;
#[doc = " Options, the same on all workers. NULL, or all fields but struct_size zero: SUM, buckets of 4 MiB, no clipping."]
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mdist_gradients_options {
    pub struct_size: u32,
    pub flags: u32,
    pub op: i32,
    pub reserved: i32,
    pub bucket_bytes: u64,
    pub clip_norm: f64,
}
#[test]
fn bindgen_test_layout_mdist_gradients_options() {
    assert_eq!(
        ::std::mem::size_of::<mdist_gradients_options>(),
        32usize,
        concat!("Size of: ", stringify!(mdist_gradients_options))
    );
    assert_eq!(
        ::std::mem::align_of::<mdist_gradients_options>(),
        8usize,
        concat!("Alignment of ", stringify!(mdist_gradients_options))
    );
    fn test_field_struct_size() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_gradients_options>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).struct_size) as usize - ptr as usize
            },
            0usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_gradients_options),
                "::",
                stringify!(struct_size)
            )
        );
    }
    test_field_struct_size();
    fn test_field_flags() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_gradients_options>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).flags) as usize - ptr as usize
            },
            4usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_gradients_options),
                "::",
                stringify!(flags)
            )
        );
    }
    test_field_flags();
    fn test_field_op() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_gradients_options>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).op) as usize - ptr as usize
            },
            8usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_gradients_options),
                "::",
                stringify!(op)
            )
        );
    }
    test_field_op();
    fn test_field_reserved() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_gradients_options>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).reserved) as usize - ptr as usize
            },
            12usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_gradients_options),
                "::",
                stringify!(reserved)
            )
        );
    }
    test_field_reserved();
    fn test_field_bucket_bytes() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_gradients_options>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).bucket_bytes) as usize - ptr as usize
            },
            16usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_gradients_options),
                "::",
                stringify!(bucket_bytes)
            )
        );
    }
    test_field_bucket_bytes();
    fn test_field_clip_norm() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_gradients_options>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).clip_norm) as usize - ptr as usize
            },
            24usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_gradients_options),
                "::",
                stringify!(clip_norm)
            )
        );
    }
    test_field_clip_norm();
}
#[doc = " Options, the same on all workers. NULL, or all fields but struct_size zero: SUM, buckets of 4 MiB, no clipping."]
pub type mdist_gradients_options_t = mdist_gradients_options;
extern "C" {
    #[doc = " Allocates memory for the gradients of a model on each local replica, filled with zeros."]
    #[doc = ""]
    #[doc = " Workers on one host share it as they share mdist_alloc's memory. It keeps the strategy."]
    #[doc = " @param like   shape and floating-point type of each gradient; data is not read. If it is a variable's memory"]
    #[doc = "               (mdist_variable_tensor), messages name the gradient after the variable."]
    #[doc = " @param count  at least 1"]
    #[doc = " @thread any   @blocks no   @collective no, but the same on all workers   @calls-back never   @since 0.1"]
    pub fn mdist_gradients_create(
        strategy: *mut mdist_strategy_t,
        like: *const mdist_tensor_t,
        count: usize,
        out: *mut *mut mdist_gradients_t,
        options: *const mdist_gradients_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Makes gradients that lie in the program's memory."]
    #[doc = ""]
    #[doc = " The library uses the memory of a replica only within its rounds: from the first mdist_gradients_ready to the end of"]
    #[doc = " the round, or of a step that fails. It does not write before the gradient is ready. It keeps the strategy."]
    #[doc = " @param tensors  gradient g of local replica r at [r * count + g]: where it lies, on the replica's device. Shapes and"]
    #[doc = "                 floating-point types are the same on all replicas. With data NULL it is lent later. If arrays"]
    #[doc = "                 overlap, the call is MDIST_ERR_INVALID_ARGUMENT."]
    #[doc = " @param count    gradients of one replica, at least 1"]
    #[doc = " @thread any   @blocks no   @collective no, but the same on all workers   @calls-back never   @since 0.2"]
    pub fn mdist_gradients_create_lent(
        strategy: *mut mdist_strategy_t,
        tensors: *const mdist_tensor_t,
        count: usize,
        out: *mut *mut mdist_gradients_t,
        options: *const mdist_gradients_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Says where all gradients of a local replica lie from its next round on."]
    #[doc = ""]
    #[doc = " The library forgets the earlier addresses. Within a round of that replica, the call is MDIST_ERR_FAILED_PRECONDITION,"]
    #[doc = " reason `round_has_begun`."]
    #[doc = " @param gradients  of mdist_gradients_create_lent"]
    #[doc = " @param tensors    as many as it has gradients, of the same shapes and types; data NULL: not lent for now"]
    #[doc = " @thread any, one at a time per replica   @blocks no   @collective no   @calls-back never   @since 0.2"]
    pub fn mdist_gradients_lend(
        gradients: *mut mdist_gradients_t,
        local_replica: u32,
        tensors: *const mdist_tensor_t,
        count: usize,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Describes a gradient of a local replica, in memory of its device."]
    #[doc = ""]
    #[doc = " The address stays the same until mdist_gradients_destroy, or mdist_regroup in an elastic job. You may write the"]
    #[doc = " gradient until it is ready, and again after the end of the round, which does not clear it."]
    #[doc = ""]
    #[doc = " If the program lends the memory, the address is where the gradient lay in the last round, or where you have lent it"]
    #[doc = " since. It is NULL if there is none. A missing gradient without an address (MDIST_GRADIENTS_ZERO_MISSING) gets memory"]
    #[doc = " of the library for its sum."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_gradients_tensor(
        gradients: *const mdist_gradients_t,
        local_replica: u32,
        index: usize,
        out: *mut mdist_tensor_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Marks the round that begins now: it adds to the next round instead of being reduced."]
    #[doc = ""]
    #[doc = " Its gradients are kept, together with those of earlier such rounds. A round without this call reduces the sum of them"]
    #[doc = " all. Call it before the first gradient of the round is ready. Each gradient is added in its own type."]
    #[doc = " @thread replica   @blocks no   @collective no, but the same on all replicas   @calls-back never   @since 0.1"]
    pub fn mdist_gradients_accumulate(
        replica: *mut mdist_replica_t,
        gradients: *mut mdist_gradients_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Says that this replica's gradient is complete; from now until the end of the round it belongs to the library."]
    #[doc = ""]
    #[doc = " A second call in one round is MDIST_ERR_FAILED_PRECONDITION, reason `ready_twice`, and fails the round: the step must"]
    #[doc = " return. The call also moves on the operations under way, as mdist_work_test does."]
    #[doc = " @thread replica   @blocks no, but it takes part in the computing   @collective all replicas, in any order"]
    #[doc = " @calls-back never   @since 0.1"]
    pub fn mdist_gradients_ready(
        replica: *mut mdist_replica_t,
        gradients: *mut mdist_gradients_t,
        index: usize,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Says that this replica's gradient is complete, and where it lies in this round."]
    #[doc = ""]
    #[doc = " Use it with frameworks that may have moved the gradient, such as PyTorch after `zero_grad(set_to_none=True)`."]
    #[doc = " - Lent gradients: the library uses this address for this round. The next round begins with the addresses of"]
    #[doc = "   mdist_gradients_create_lent or mdist_gradients_lend. A program that passes all addresses here creates the gradients"]
    #[doc = "   with data NULL. Then the library never uses an old address."]
    #[doc = " - Other gradients: any address but that of mdist_gradients_tensor is MDIST_ERR_INVALID_ARGUMENT. The message names"]
    #[doc = "   the gradient."]
    #[doc = " - A gradient that is ready without an address is MDIST_ERR_FAILED_PRECONDITION, reason `not_lent`."]
    #[doc = " @param data  memory of the replica's device, of the gradient's shape and type"]
    #[doc = " @thread replica   @blocks no, but it takes part in the computing   @collective all replicas, in any order"]
    #[doc = " @calls-back never   @since 0.2"]
    pub fn mdist_gradients_ready_at(
        replica: *mut mdist_replica_t,
        gradients: *mut mdist_gradients_t,
        index: usize,
        data: *mut ::std::os::raw::c_void,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Ends the round: when it returns, all gradients are reduced and clipped."]
    #[doc = ""]
    #[doc = " A gradient that is not ready is MDIST_ERR_FAILED_PRECONDITION, reason `gradients_missing`, and the message names it."]
    #[doc = " (MDIST_GRADIENTS_ZERO_MISSING changes that.) A round that adds to the next returns at once, with norm 0 and finite 1."]
    #[doc = " @param norm    receives the norm before clipping, the same on all replicas; 0 with MDIST_GRADIENTS_NO_NORM. May be"]
    #[doc = "                NULL."]
    #[doc = " @param finite  receives 0 if an element is NaN or infinite, or so large that the norm is, else 1. If 0, skip this"]
    #[doc = "                step's update; all replicas get the same number. 1 with MDIST_GRADIENTS_NO_NORM. May be NULL."]
    #[doc = " @thread replica   @blocks until every replica has called it, within the run's timeout   @collective all replicas"]
    #[doc = " @calls-back never   @since 0.1"]
    pub fn mdist_gradients_wait(
        replica: *mut mdist_replica_t,
        gradients: *mut mdist_gradients_t,
        norm: *mut f64,
        finite: *mut i32,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Ends the round as mdist_gradients_wait does, but without waiting for other replicas: call it until it says done."]
    #[doc = ""]
    #[doc = " - The first call is what the wait is: it fails, or zeros gradients, if some are not ready. Each call may do a part of"]
    #[doc = "   the computing. With a norm, a replica on a GPU waits until its GPU has reduced."]
    #[doc = " - The round ends when every replica goes on calling this, or waits. It fails as a wait would, also when the timeout"]
    #[doc = "   has passed."]
    #[doc = " - Until done, everything else of this replica that communicates is MDIST_ERR_FAILED_PRECONDITION, reason"]
    #[doc = "   `round_ends`: collectives, merges, messages and other gradients. mdist_gradients_wait may end what this began."]
    #[doc = " - A call after done begins the next round."]
    #[doc = " @param done    receives 1 if the round has ended. If 0, @p norm and @p finite are not touched"]
    #[doc = " @param norm    as of mdist_gradients_wait, and so is @p finite"]
    #[doc = " @thread replica   @blocks no, but for GPUs as said   @collective all replicas   @calls-back never   @since 0.3"]
    pub fn mdist_gradients_test(
        replica: *mut mdist_replica_t,
        gradients: *mut mdist_gradients_t,
        done: *mut i32,
        norm: *mut f64,
        finite: *mut i32,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Frees gradients. NULL is ignored."]
    #[doc = ""]
    #[doc = " If a step is within a round of them, the memory stays until that step ends."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_gradients_destroy(gradients: *mut mdist_gradients_t);
}
extern "C" {
    #[doc = " Makes a group of @p count replicas."]
    #[doc = ""]
    #[doc = " All workers call it with the same list, even workers without members, and in the same order among their other calls."]
    #[doc = " The library compares the lists."]
    #[doc = " - MDIST_ERR_INVALID_ARGUMENT: the list is empty, or names a replica twice or one that does not exist"]
    #[doc = " - MDIST_ERR_MISMATCH: two workers passed different lists; the message shows both"]
    #[doc = " - MDIST_ERR_UNSUPPORTED: the strategy is `in_graph`"]
    #[doc = ""]
    #[doc = " With several workers, MISMATCH ends the job's collectives, and so does INVALID_ARGUMENT if not all workers get it."]
    #[doc = " @param replicas  replica ids in any order, copied; member i has position i"]
    #[doc = " @param out       receives the group, which you own"]
    #[doc = " @thread one at a time per strategy   @blocks for the other workers   @collective all workers"]
    #[doc = " @calls-back never   @since 0.2"]
    pub fn mdist_group_create(
        strategy: *mut mdist_strategy_t,
        replicas: *const u32,
        count: usize,
        out: *mut *mut mdist_group_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Returns the number of members; 0 for a bad handle."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.2"]
    pub fn mdist_group_size(group: *const mdist_group_t) -> u32;
}
extern "C" {
    #[doc = " Returns the position of replica @p replica in the list; MDIST_NONE if it is not a member, or for a bad handle."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.2"]
    pub fn mdist_group_position(group: *const mdist_group_t, replica: u32) -> u32;
}
extern "C" {
    #[doc = " Destroys a group. NULL is allowed."]
    #[doc = ""]
    #[doc = " Operations under way run to their end. Later calls that name the group are MDIST_ERR_BAD_HANDLE. A group may outlive"]
    #[doc = " its strategy's handle, and keeps the strategy's memory until then. The group's connections to other workers stay open"]
    #[doc = " until the next mdist_group_create or the end of the strategy."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.2"]
    pub fn mdist_group_destroy(group: *mut mdist_group_t);
}
pub const MDIST_SHARD_OFF: mdist_shard_policy = -1;
pub const MDIST_SHARD_AUTO: mdist_shard_policy = 0;
pub const MDIST_SHARD_FILE: mdist_shard_policy = 1;
pub const MDIST_SHARD_DATA: mdist_shard_policy = 2;
pub const MDIST_SHARD_MARKED: mdist_shard_policy = 3;
pub const MDIST_SHARD_PIN_INT32: mdist_shard_policy = -2147483648;
#[doc = " Sharding policy: who reads what. (TensorFlow: AutoShardPolicy, with its numbers; MARKED is its HINT.)"]
pub type mdist_shard_policy = ::std::os::raw::c_int;
#[doc = " Sharding policy: who reads what. (TensorFlow: AutoShardPolicy, with its numbers; MARKED is its HINT.)"]
pub use self::mdist_shard_policy as mdist_shard_policy_t;
pub const MDIST_UNEVEN_DEFAULT: mdist_uneven = 0;
pub const MDIST_UNEVEN_SPREAD: mdist_uneven = 1;
pub const MDIST_UNEVEN_DROP: mdist_uneven = 2;
pub const MDIST_UNEVEN_PIN_INT32: mdist_uneven = -2147483648;
#[doc = " What happens to rows that cannot be shared out evenly."]
pub type mdist_uneven = ::std::os::raw::c_int;
#[doc = " What happens to rows that cannot be shared out evenly."]
pub use self::mdist_uneven as mdist_uneven_t;
pub const MDIST_REPLICATION_PER_WORKER: mdist_replication_mode = 0;
pub const MDIST_REPLICATION_PER_REPLICA: mdist_replication_mode = 1;
pub const MDIST_REPLICATION_PIN_INT32: mdist_replication_mode = -2147483648;
#[doc = " For whom the function of mdist_distribute_from_function makes a dataset."]
pub type mdist_replication_mode = ::std::os::raw::c_int;
#[doc = " For whom the function of mdist_distribute_from_function makes a dataset."]
pub use self::mdist_replication_mode as mdist_replication_mode_t;
#[doc = " Options for distributing a dataset. NULL, or all zero except struct_size: what the strategy's configuration says."]
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mdist_input_options {
    pub struct_size: u32,
    pub flags: u32,
    pub policy: i32,
    pub uneven: i32,
    pub replication_mode: i32,
    pub fetch_to_device: i32,
    pub buffer_size: u64,
    pub weights: *const f64,
    pub weight_count: usize,
}
#[test]
fn bindgen_test_layout_mdist_input_options() {
    assert_eq!(
        ::std::mem::size_of::<mdist_input_options>(),
        48usize,
        concat!("Size of: ", stringify!(mdist_input_options))
    );
    assert_eq!(
        ::std::mem::align_of::<mdist_input_options>(),
        8usize,
        concat!("Alignment of ", stringify!(mdist_input_options))
    );
    fn test_field_struct_size() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_input_options>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).struct_size) as usize - ptr as usize
            },
            0usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_input_options),
                "::",
                stringify!(struct_size)
            )
        );
    }
    test_field_struct_size();
    fn test_field_flags() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_input_options>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).flags) as usize - ptr as usize
            },
            4usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_input_options),
                "::",
                stringify!(flags)
            )
        );
    }
    test_field_flags();
    fn test_field_policy() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_input_options>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).policy) as usize - ptr as usize
            },
            8usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_input_options),
                "::",
                stringify!(policy)
            )
        );
    }
    test_field_policy();
    fn test_field_uneven() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_input_options>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).uneven) as usize - ptr as usize
            },
            12usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_input_options),
                "::",
                stringify!(uneven)
            )
        );
    }
    test_field_uneven();
    fn test_field_replication_mode() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_input_options>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).replication_mode) as usize - ptr as usize
            },
            16usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_input_options),
                "::",
                stringify!(replication_mode)
            )
        );
    }
    test_field_replication_mode();
    fn test_field_fetch_to_device() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_input_options>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).fetch_to_device) as usize - ptr as usize
            },
            20usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_input_options),
                "::",
                stringify!(fetch_to_device)
            )
        );
    }
    test_field_fetch_to_device();
    fn test_field_buffer_size() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_input_options>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).buffer_size) as usize - ptr as usize
            },
            24usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_input_options),
                "::",
                stringify!(buffer_size)
            )
        );
    }
    test_field_buffer_size();
    fn test_field_weights() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_input_options>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).weights) as usize - ptr as usize
            },
            32usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_input_options),
                "::",
                stringify!(weights)
            )
        );
    }
    test_field_weights();
    fn test_field_weight_count() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_input_options>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).weight_count) as usize - ptr as usize
            },
            40usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_input_options),
                "::",
                stringify!(weight_count)
            )
        );
    }
    test_field_weight_count();
}
#[doc = " Options for distributing a dataset. NULL, or all zero except struct_size: what the strategy's configuration says."]
pub type mdist_input_options_t = mdist_input_options;
extern "C" {
    #[doc = " Distributes @p source, a dataset of global batches, over the replicas of the job. The top of this header says how."]
    #[doc = ""]
    #[doc = " - The source must be batched: every component has a first dimension, the same for all."]
    #[doc = " - The result can be iterated, but not transformed further. Batch, shuffle or map the source instead."]
    #[doc = " - All workers must make the iterators of their distributed datasets in the same order."]
    #[doc = " - Shuffles must have the same seed on all workers. The program must see to that."]
    #[doc = " - @p source may be destroyed afterwards."]
    #[doc = ""]
    #[doc = " Errors:"]
    #[doc = " - MDIST_ERR_INVALID_ARGUMENT: a component is a scalar (allowed with MDIST_INPUT_NO_SPLIT), or options exclude each"]
    #[doc = "   other."]
    #[doc = " - MDIST_ERR_NOT_FOUND: policy FILE finds no files that are read."]
    #[doc = " - MDIST_ERR_FAILED_PRECONDITION, reason `too_few_files`, on all workers: too few files to give every worker one, or"]
    #[doc = "   none at all, where files are shared out."]
    #[doc = " - MDIST_ERR_FAILED_PRECONDITION, reason `too_few_elements`, on all workers: too few elements to give every worker"]
    #[doc = "   one, where whole elements are shared out, or those below a shard of MDIST_ONE_PER_WORKER. Without any element it is"]
    #[doc = "   OK."]
    #[doc = " - If files or elements can't be counted beforehand, as with a generator or a filter, mdist_iterator_next gives these"]
    #[doc = "   two errors for the first element."]
    #[doc = " - MDIST_ERR_MISMATCH: workers differ in policy taken, rows of a step, flags, uneven, weights or components."]
    #[doc = ""]
    #[doc = " A failure on one worker fails the call on all workers, even if only that worker's arguments are wrong. All get the"]
    #[doc = " same message and the rank of that worker. The job goes on afterwards. (TensorFlow: experimental_distribute_dataset,"]
    #[doc = " make_dataset_iterator.)"]
    #[doc = " @thread any, outside of steps   @blocks until all workers have called it, with several workers"]
    #[doc = " @collective all workers   @calls-back never   @since 0.1"]
    pub fn mdist_distribute_dataset(
        strategy: *mut mdist_strategy_t,
        source: *const mdist_dataset_t,
        out: *mut *mut mdist_dataset_t,
        options: *const mdist_input_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
#[doc = " Says for whom a dataset is made. (TensorFlow: InputContext.)"]
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mdist_input_context {
    pub struct_size: u32,
    pub pipeline_count: u32,
    pub pipeline: u32,
    pub replica_count: u32,
}
#[test]
fn bindgen_test_layout_mdist_input_context() {
    assert_eq!(
        ::std::mem::size_of::<mdist_input_context>(),
        16usize,
        concat!("Size of: ", stringify!(mdist_input_context))
    );
    assert_eq!(
        ::std::mem::align_of::<mdist_input_context>(),
        4usize,
        concat!("Alignment of ", stringify!(mdist_input_context))
    );
    fn test_field_struct_size() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_input_context>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).struct_size) as usize - ptr as usize
            },
            0usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_input_context),
                "::",
                stringify!(struct_size)
            )
        );
    }
    test_field_struct_size();
    fn test_field_pipeline_count() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_input_context>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).pipeline_count) as usize - ptr as usize
            },
            4usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_input_context),
                "::",
                stringify!(pipeline_count)
            )
        );
    }
    test_field_pipeline_count();
    fn test_field_pipeline() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_input_context>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).pipeline) as usize - ptr as usize
            },
            8usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_input_context),
                "::",
                stringify!(pipeline)
            )
        );
    }
    test_field_pipeline();
    fn test_field_replica_count() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_input_context>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).replica_count) as usize - ptr as usize
            },
            12usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_input_context),
                "::",
                stringify!(replica_count)
            )
        );
    }
    test_field_replica_count();
}
#[doc = " Says for whom a dataset is made. (TensorFlow: InputContext.)"]
pub type mdist_input_context_t = mdist_input_context;
extern "C" {
    #[doc = " Computes how many rows of @p global_batch_size one replica gets."]
    #[doc = ""]
    #[doc = " It fails with MDIST_ERR_INVALID_ARGUMENT if the rows cannot be shared out evenly. (TensorFlow:"]
    #[doc = " get_per_replica_batch_size.)"]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_input_context_batch_size(
        context: *const mdist_input_context_t,
        global_batch_size: u64,
        out: *mut u64,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
#[doc = " Makes a dataset. Its elements are batches of one replica."]
#[doc = ""]
#[doc = " @p out receives a handle, which the library owns from then on, even if the function fails. @p context is valid during"]
#[doc = " the call only. Returns 0 on success. Any other number fails the distribution with MDIST_ERR_CALLBACK, and"]
#[doc = " mdist_error_native gives that number."]
pub type mdist_dataset_fn = ::std::option::Option<
    unsafe extern "C" fn(
        context: *const mdist_input_context_t,
        out: *mut *mut mdist_dataset_t,
        user_data: *mut ::std::os::raw::c_void,
    ) -> i32,
>;
extern "C" {
    #[doc = " Distributes the dataset that @p function makes. Nothing is split or shared: in each step, every replica of this"]
    #[doc = " worker in turn takes one element."]
    #[doc = ""]
    #[doc = " In an elastic job each replica has a dataset of its own, whatever worker it is on. This call makes the datasets of"]
    #[doc = " all replicas of the job, on every worker: it calls @p function for each replica id, which is the context's pipeline."]
    #[doc = " What it makes must depend on nothing but the context. If workers describe their datasets differently, the call fails"]
    #[doc = " with MDIST_ERR_MISMATCH. The function is not called again when workers are lost or come."]
    #[doc = ""]
    #[doc = " If the call fails on one worker, or the workers differ, it fails on all of them, as in mdist_distribute_dataset."]
    #[doc = " (TensorFlow: distribute_datasets_from_function, make_input_fn_iterator.)"]
    #[doc = " @param options  policy, uneven and weights must be 0: the function decides these"]
    #[doc = " @thread any, outside of steps   @blocks until all workers have called it, with several workers"]
    #[doc = " @collective all workers"]
    #[doc = " @calls-back function, on this thread, in this call   @since 0.1"]
    pub fn mdist_distribute_from_function(
        strategy: *mut mdist_strategy_t,
        function: mdist_dataset_fn,
        user_data: *mut ::std::os::raw::c_void,
        out: *mut *mut mdist_dataset_t,
        options: *const mdist_input_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Describes, in lines for people, how a dataset is made."]
    #[doc = ""]
    #[doc = " For a distributed dataset it says which policy was taken and why, and who reads what. It also says how many rows each"]
    #[doc = " replica gets in a step. @p text, @p capacity and @p needed work as in mdist_config_get."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_dataset_explain(
        dataset: *const mdist_dataset_t,
        text: *mut ::std::os::raw::c_char,
        capacity: usize,
        needed: *mut usize,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Gives the number of rows that each replica of the job, by id, got in the last element of a distributed dataset."]
    #[doc = ""]
    #[doc = " These are the denominators of means if steps are not even. A scalar counts as one row. It fails with"]
    #[doc = " MDIST_ERR_FAILED_PRECONDITION before the first element, after a restore until the next element, and for a dataset"]
    #[doc = " that is not distributed."]
    #[doc = " @param count  number of replicas of the job"]
    #[doc = " @thread one at a time per iterator   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_iterator_row_counts(
        iterator: *mut mdist_iterator_t,
        rows: *mut u64,
        count: usize,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
pub const MDIST_LOG_OFF: mdist_log_level = 0;
pub const MDIST_LOG_ERROR: mdist_log_level = 1;
pub const MDIST_LOG_WARN: mdist_log_level = 2;
pub const MDIST_LOG_INFO: mdist_log_level = 3;
pub const MDIST_LOG_DEBUG: mdist_log_level = 4;
pub const MDIST_LOG_PIN_INT32: mdist_log_level = -2147483648;
pub type mdist_log_level = ::std::os::raw::c_int;
pub use self::mdist_log_level as mdist_log_level_t;
#[doc = " Receives one finished message of @p length bytes. A NUL follows it, and it has no line end."]
#[doc = ""]
#[doc = " The sink runs on whichever thread logs, one call at a time. It must not call the library or end its thread. The text"]
#[doc = " is valid during the call only."]
pub type mdist_log_fn = ::std::option::Option<
    unsafe extern "C" fn(
        level: mdist_log_level_t,
        text: *const ::std::os::raw::c_char,
        length: usize,
        user_data: *mut ::std::os::raw::c_void,
    ),
>;
extern "C" {
    #[doc = " Sends messages to @p sink (kept) from now on. NULL restores the default sink."]
    #[doc = ""]
    #[doc = " @p free_user_data (may be NULL) runs when the sink is replaced, or at once if this call fails."]
    #[doc = " @thread any   @blocks until a message under way is out   @collective no"]
    #[doc = " @calls-back free_user_data, on this thread   @since 0.1"]
    pub fn mdist_log_set_sink(
        sink: mdist_log_fn,
        user_data: *mut ::std::os::raw::c_void,
        free_user_data: mdist_free_fn,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Sets the level. Messages above @p level are dropped."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_log_set_level(
        level: mdist_log_level_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mdist_loop {
    _unused: [u8; 0],
}
#[doc = " A loop. Its function uses it while the loop runs; afterwards it holds the outputs."]
pub type mdist_loop_t = mdist_loop;
#[doc = " Processes one element of a loop. It is called in cross-replica context, on the thread that called mdist_run_steps."]
#[doc = ""]
#[doc = " @p element is one value, as from mdist_iterator_next_value, and is valid during the call only. The function may call"]
#[doc = " any function of cross-replica context. It returns 0 on success. Any other number fails the loop, and"]
#[doc = " mdist_error_native gives that number."]
pub type mdist_loop_fn = ::std::option::Option<
    unsafe extern "C" fn(
        strategy: *mut mdist_strategy_t,
        loop_: *mut mdist_loop_t,
        element: *mut mdist_value_t,
        user_data: *mut ::std::os::raw::c_void,
    ) -> i32,
>;
extern "C" {
    #[doc = " Calls @p function for the next @p iterations elements of @p iterator, one after another."]
    #[doc = ""]
    #[doc = " If the elements run out before, the call returns MDIST_END. The elements done until then count, and @p out is set."]
    #[doc = " After MDIST_FOREVER it always returns MDIST_END."]
    #[doc = " - With several workers and a plain dataset, the first worker that runs out ends the loop. An element that the others"]
    #[doc = "   have taken by then is lost."]
    #[doc = " - A distributed dataset ends on all workers in the same step."]
    #[doc = ""]
    #[doc = " The first failure ends the loop on all workers, and also ends the job's collectives, as a failed run does. There are"]
    #[doc = " no outputs then."]
    #[doc = " @param iterations  the same on all workers"]
    #[doc = " @param iterator    of this strategy's distributed dataset, or of a plain dataset, whose elements all replicas see"]
    #[doc = " @param initial     NULL, or a structure of plain values: the outputs before any was set. With a structure no other"]
    #[doc = "                    outputs may be set, and each output keeps its dtype and shape."]
    #[doc = " @param options     timeout_ns applies to each wait for other workers"]
    #[doc = " @thread one at a time per strategy   @blocks until the last element is done   @collective all workers"]
    #[doc = " @calls-back function, on this thread   @since 0.1"]
    pub fn mdist_run_steps(
        strategy: *mut mdist_strategy_t,
        iterator: *mut mdist_iterator_t,
        iterations: u64,
        function: mdist_loop_fn,
        user_data: *mut ::std::os::raw::c_void,
        initial: *const mdist_value_t,
        out: *mut *mut mdist_loop_t,
        options: *const mdist_call_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Sets the output at @p path from outside of steps."]
    #[doc = ""]
    #[doc = " - The value may be of any kind. A structure sets its leaves as outputs below the path."]
    #[doc = " - With aggregation NONE the value is kept. Otherwise it is reduced when the loop is over, as mdist_strategy_reduce"]
    #[doc = "   does. The same values are refused: a plain value has no sum."]
    #[doc = " - After the loop it fails with MDIST_ERR_FAILED_PRECONDITION, reason `loop_over`."]
    #[doc = ""]
    #[doc = " (TensorFlow: MultiStepContext.set_last_step_output.)"]
    #[doc = " @thread any, in cross-replica context   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_loop_set_output(
        loop_: *mut mdist_loop_t,
        path: *const ::std::os::raw::c_char,
        value: *const mdist_value_t,
        aggregation: mdist_aggregation_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Sets the output at @p path from inside a step: copies @p tensor as this replica's part."]
    #[doc = ""]
    #[doc = " Every replica must set the same paths with the same aggregation. This is checked when the loop's function returns."]
    #[doc = " The call waits for no other replica. Errors:"]
    #[doc = " - MDIST_ERR_INVALID_ARGUMENT: the aggregation is NONE, as in TensorFlow. To keep the parts, make them a result of the"]
    #[doc = "   run, and call mdist_loop_set_output with that result."]
    #[doc = " - MDIST_ERR_UNSUPPORTED: the step belongs to an in-graph job. Make the parts a result of the run there, too."]
    #[doc = " @thread replica   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_replica_set_output(
        replica: *mut mdist_replica_t,
        loop_: *mut mdist_loop_t,
        path: *const ::std::os::raw::c_char,
        tensor: *const mdist_tensor_t,
        aggregation: mdist_aggregation_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Gives the outputs of a loop that is over, as a structure. It has no leaves if there are no outputs."]
    #[doc = ""]
    #[doc = " Before the loop is over it fails with MDIST_ERR_FAILED_PRECONDITION, reason `loop_running`. (TensorFlow:"]
    #[doc = " MultiStepContext.last_step_outputs.)"]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_loop_outputs(
        loop_: *const mdist_loop_t,
        out: *mut *mut mdist_value_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Keeps a pointer under a name, one for each local replica. It is for outputs that are no tensors."]
    #[doc = ""]
    #[doc = " If it is set more than once, the last pointer counts. The pointer is yours: the library never follows or frees it."]
    #[doc = " (TensorFlow: MultiStepContext.set_non_tensor_output.)"]
    #[doc = " @param local_replica  the local replica that the pointer belongs to; in a step: mdist_replica_local_index"]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_loop_set_object(
        loop_: *mut mdist_loop_t,
        name: *const ::std::os::raw::c_char,
        local_replica: u32,
        object: *mut ::std::os::raw::c_void,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Gives the pointer that was kept under a name. It may be called at any time."]
    #[doc = ""]
    #[doc = " It fails with MDIST_ERR_NOT_FOUND if none was kept. (TensorFlow: MultiStepContext.non_tensor_outputs.)"]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_loop_object(
        loop_: *const mdist_loop_t,
        name: *const ::std::os::raw::c_char,
        local_replica: u32,
        out: *mut *mut ::std::os::raw::c_void,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Returns the number of elements that are done. In the loop's function it counts those before the current one. Returns"]
    #[doc = " 0 for a bad handle."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_loop_iterations(loop_: *const mdist_loop_t) -> u64;
}
extern "C" {
    #[doc = " Frees a loop that is over. NULL is fine."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_loop_destroy(loop_: *mut mdist_loop_t);
}
extern "C" {
    #[doc = " Computes this replica's share of the mean loss over all examples of all replicas."]
    #[doc = ""]
    #[doc = " That is the sum of @p per_example, each times its weight if there are weights, divided by the number of examples of"]
    #[doc = " all replicas."]
    #[doc = ""]
    #[doc = " The gradient with respect to an element is its weight divided by @p global_batch. The sum is taken in double. Where"]
    #[doc = " the examples are counted, call it before the first mdist_gradients_ready of a round, as any other collective."]
    #[doc = " (TensorFlow: compute_average_loss. Its default divides by this replica's examples times the number of replicas.)"]
    #[doc = " @param per_example   [k, ...] for k examples, which may be 0; a floating-point type"]
    #[doc = " @param weights       NULL, or of the same type and shape, or [k]"]
    #[doc = " @param global_batch  the number of examples of all replicas. If 0, the call counts them and writes the number here."]
    #[doc = "                      Else it takes the number and asks no other replica. It is 0 on all replicas or on none."]
    #[doc = "                      So, not to wait here, start a sum of the replicas' k (mdist_collective_start), and pass the sum."]
    #[doc = " @param loss          receives 0 if no replica has an example, so that a step without data changes nothing"]
    #[doc = " @thread replica   @blocks as mdist_all_reduce where the examples are counted   @collective all replicas then"]
    #[doc = " @calls-back never   @since 0.1"]
    pub fn mdist_average_loss(
        replica: *mut mdist_replica_t,
        per_example: *const mdist_tensor_t,
        weights: *const mdist_tensor_t,
        global_batch: *mut u64,
        loss: *mut f64,
        options: *const mdist_call_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Sums the elements of @p terms and divides by the number of replicas."]
    #[doc = ""]
    #[doc = " Use it for a loss that depends on the variables alone and is the same on every replica. The replicas' results then"]
    #[doc = " add up to that loss. (TensorFlow: scale_regularization_loss.)"]
    #[doc = " @param terms  a floating-point type, any shape"]
    #[doc = " @thread replica   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_scale_regularization(
        replica: *mut mdist_replica_t,
        terms: *const mdist_tensor_t,
        loss: *mut f64,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Allocates memory on the device of a local replica, 64-byte aligned and filled with zeros."]
    #[doc = ""]
    #[doc = " - You own it until mdist_free, even after the strategy is destroyed."]
    #[doc = " - For a GPU replica it is GPU memory: use mdist_tensor_copy to reach it. You may call mdist_free while work on the"]
    #[doc = "   replica's stream still uses it."]
    #[doc = " - On the CPU, if all workers of the job are on one host, reductions of such memory (and of variables) make no copies"]
    #[doc = "   between workers."]
    #[doc = " - After fork() such memory still belongs to the parent. The child must not write there."]
    #[doc = " @param strategy  NULL: host memory; @p local_replica must be 0 then"]
    #[doc = " @param bytes     may be 0: gives an address that is not NULL, with no memory behind it"]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_alloc(
        strategy: *mut mdist_strategy_t,
        local_replica: u32,
        bytes: usize,
        out: *mut *mut ::std::os::raw::c_void,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Frees memory of mdist_alloc."]
    #[doc = ""]
    #[doc = " No call, started collective, value or dataset may use it any more. NULL, and an address that is not allocated, is"]
    #[doc = " ignored. (A freed address may be allocated again.)"]
    #[doc = ""]
    #[doc = " It works as a mdist_free_fn. Pass it, with the memory as user_data, to functions that keep memory. The library then"]
    #[doc = " frees the memory without a call into your language. (If a dataset has several arrays, they must then lie in one"]
    #[doc = " allocation.)"]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_free(memory: *mut ::std::os::raw::c_void);
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mdist_work {
    _unused: [u8; 0],
}
pub type mdist_work_t = mdist_work;
extern "C" {
    #[doc = " Starts the collective that @p collective describes, and returns at once."]
    #[doc = ""]
    #[doc = " The blocking forms of other replicas may meet it: it counts as the collective that it describes."]
    #[doc = " @thread replica   @blocks no   @collective all replicas   @calls-back never   @since 0.3"]
    pub fn mdist_collective_start(
        replica: *mut mdist_replica_t,
        collective: *const mdist_collective_description_t,
        out: *mut *mut mdist_work_t,
        options: *const mdist_call_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Moves the operation on as far as it goes without waiting for other replicas' calls, and says whether it is done."]
    #[doc = ""]
    #[doc = " It fails as the blocking form would. After a failure every later call gives the same error."]
    #[doc = " @param done  receives 1 or 0"]
    #[doc = " @thread any   @blocks no, but it takes part in the computing"]
    #[doc = " @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_work_test(
        work: *mut mdist_work_t,
        done: *mut i32,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Waits until the operation is over, but at most @p timeout_ns."]
    #[doc = ""]
    #[doc = " If the operation failed, this call returns its error. With MDIST_FOREVER only the operation's own timeout applies."]
    #[doc = " @param done  receives 1 if the operation is done, else 0"]
    #[doc = " @thread any   @blocks as said   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_work_wait(
        work: *mut mdist_work_t,
        timeout_ns: u64,
        done: *mut i32,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Gives a file descriptor for poll, epoll and similar calls."]
    #[doc = ""]
    #[doc = " It is readable when mdist_work_test has something to do or to say:"]
    #[doc = " - all replicas have come and there is work to take part in"]
    #[doc = " - the operation is done, or has failed or timed out"]
    #[doc = " - its work was destroyed"]
    #[doc = ""]
    #[doc = " Call mdist_work_test when the descriptor is readable. If @p done is 0 then, go on polling. After the end of the"]
    #[doc = " operation the descriptor stays readable. Never read from it."]
    #[doc = ""]
    #[doc = " (mdist_work_on_done calls a function instead. With one worker, it can do so only in some call of the library, since"]
    #[doc = " no thread is behind an operation.)"]
    #[doc = " @param out  receives a new descriptor, closed on exec. You close it, before or after mdist_work_destroy."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_work_descriptor(
        work: *mut mdist_work_t,
        out: *mut i32,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
#[doc = " A function that is called when an operation is over."]
#[doc = ""]
#[doc = " It may call mdist_work_test, mdist_work_destroy and other functions of `@thread any` that do not block. It must not"]
#[doc = " wait, throw or end its thread: operations of all local replicas may be waiting for it. Functions of a replica or a"]
#[doc = " strategy, and mdist_work_wait, are MDIST_ERR_WRONG_CONTEXT in it. If it destroys the work of another operation that"]
#[doc = " is not done, that operation goes on."]
#[doc = " @param status  MDIST_OK, or what mdist_work_test gives from now on; MDIST_ERR_ABORTED if the work was destroyed"]
pub type mdist_work_done_fn = ::std::option::Option<
    unsafe extern "C" fn(status: mdist_status_t, user_data: *mut ::std::os::raw::c_void),
>;
extern "C" {
    #[doc = " Makes the library call a function once when the operation is done, or has failed."]
    #[doc = ""]
    #[doc = " When and where"]
    #[doc = " - If the operation is over already, it is called before this call returns."]
    #[doc = " - With one worker: within some call of the library that a local replica makes after the operation has ended. That may"]
    #[doc = "   be a call of another replica, on its thread."]
    #[doc = " - With several workers: on a thread of the library, or as with one."]
    #[doc = " - Always before the step of the replica that started the operation has ended, also if the step fails, is aborted, or"]
    #[doc = "   if the work is destroyed. So it is called exactly once, unless this call fails."]
    #[doc = " - It may come after mdist_work_wait has returned. In a step of mdist_run, the replica's handle is valid in it, for"]
    #[doc = "   mdist_replica_id, mdist_replica_local_index and mdist_replica_count."]
    #[doc = ""]
    #[doc = " On GPUs the operation is over when all of its work has been given to the GPUs. Call mdist_work_test before the"]
    #[doc = " replica's stream uses the results."]
    #[doc = ""]
    #[doc = " A work may have several such functions. A replica must still wait for its operation, or learn its end by the"]
    #[doc = " function, before its step ends."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back done, as said   @since 0.2"]
    pub fn mdist_work_on_done(
        work: *mut mdist_work_t,
        done: mdist_work_done_fn,
        user_data: *mut ::std::os::raw::c_void,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Frees a work."]
    #[doc = ""]
    #[doc = " If the operation is not done, the effect depends on whether all replicas have come:"]
    #[doc = " - If they have, and there is one worker, this call finishes the operation."]
    #[doc = " - Otherwise it gives the operation up, which fails the step. The run gets MDIST_ERR_ABORTED, reason `work_destroyed`;"]
    #[doc = "   the calls of other replicas get reason `step_failed`. With several workers this is always so, since nobody knows"]
    #[doc = "   when the others would come."]
    #[doc = ""]
    #[doc = " The buffers are yours again in any case. NULL is ignored."]
    #[doc = " @thread any   @blocks no, but it takes part in the computing   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_work_destroy(work: *mut mdist_work_t);
}
extern "C" {
    #[doc = " Sends a buffer to replica @p to."]
    #[doc = " @param to      a replica id of the job; may be this replica's own"]
    #[doc = " @param buffer  read before the call returns"]
    #[doc = " @thread replica   @blocks until the receiver has the bytes, or the library has copied a small message"]
    #[doc = " @collective no, but replica to receives it   @calls-back never   @since 0.2"]
    pub fn mdist_send(
        replica: *mut mdist_replica_t,
        to: u32,
        tag: u64,
        buffer: *const mdist_buffer_t,
        options: *const mdist_call_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Receives a buffer from replica @p from."]
    #[doc = " @param from    a replica id of the job; may be this replica's own"]
    #[doc = " @param buffer  receives the bytes"]
    #[doc = " @thread replica   @blocks until the bytes are there   @collective no, but replica from sends it   @calls-back never"]
    #[doc = " @since 0.2"]
    pub fn mdist_receive(
        replica: *mut mdist_replica_t,
        from: u32,
        tag: u64,
        buffer: *const mdist_buffer_t,
        options: *const mdist_call_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Starts a send and returns at once."]
    #[doc = ""]
    #[doc = " The work is used like that of a started collective (work.h). The buffer belongs to the operation until the work is"]
    #[doc = " done. A replica may have 1024 started messages under way. They may be done in any order."]
    #[doc = " @param out  yours to destroy"]
    #[doc = " @thread replica   @blocks no, but on a GPU for the work of the replica's stream"]
    #[doc = " @collective no, but replica to receives it   @calls-back never   @since 0.2"]
    pub fn mdist_send_start(
        replica: *mut mdist_replica_t,
        to: u32,
        tag: u64,
        buffer: *const mdist_buffer_t,
        out: *mut *mut mdist_work_t,
        options: *const mdist_call_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Starts a receive and returns at once. It is like mdist_send_start otherwise."]
    #[doc = " @param out  yours to destroy"]
    #[doc = " @thread replica   @blocks no   @collective no, but replica from sends it   @calls-back never   @since 0.2"]
    pub fn mdist_receive_start(
        replica: *mut mdist_replica_t,
        from: u32,
        tag: u64,
        buffer: *const mdist_buffer_t,
        out: *mut *mut mdist_work_t,
        options: *const mdist_call_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
#[doc = " Combines @p count pairs of elements: out[i] = left[i] op right[i]."]
#[doc = ""]
#[doc = " - The three arrays do not overlap. Each begins at a multiple of the largest power of two that divides the element"]
#[doc = "   size, up to 64."]
#[doc = " - It runs on any thread that is in a collective, or on one of the library, and on several at the same time, for"]
#[doc = "   different elements. Rounding is to nearest there."]
#[doc = " - It must not call the library, except mdist_fail, wait for another replica, or leave by longjmp."]
#[doc = " - While it runs for a started form, other calls about works of the same replica wait until it returns. So it must not"]
#[doc = "   wait for a thread that makes such a call."]
#[doc = " - It returns 0, or any other number to fail the call with MDIST_ERR_CALLBACK; mdist_error_native then gives the"]
#[doc = "   number. An exception has the same effect."]
#[doc = " - If it fails and there is one worker, the call fails on all replicas. A small call may fail only on those replicas"]
#[doc = "   for which the function failed."]
#[doc = " - If it fails and there are several workers, the job ends. The other workers get the message, most of them with"]
#[doc = "   MDIST_ERR_ABORTED."]
pub type mdist_combine_fn = ::std::option::Option<
    unsafe extern "C" fn(
        left: *const ::std::os::raw::c_void,
        right: *const ::std::os::raw::c_void,
        out: *mut ::std::os::raw::c_void,
        count: u64,
        user_data: *mut ::std::os::raw::c_void,
    ) -> i32,
>;
extern "C" {
    #[doc = " Registers an operator in this process."]
    #[doc = ""]
    #[doc = " @param name           the same on all replicas; 1 to 64 printable ASCII characters. Workers show it in messages."]
    #[doc = " @param element_bytes  1 to MDIST_OPERATOR_MAX_BYTES"]
    #[doc = " @param user_data      passed to @p combine; must last until all calls and works with the operator have ended"]
    #[doc = " @param out            receives a number, for use until mdist_operator_unregister"]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back combine, in later calls, as its type says   @since 0.2"]
    pub fn mdist_operator_register(
        name: *const ::std::os::raw::c_char,
        element_bytes: usize,
        combine: mdist_combine_fn,
        user_data: *mut ::std::os::raw::c_void,
        out: *mut mdist_reduce_op_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Ends the use of an operator's number."]
    #[doc = ""]
    #[doc = " Works that were started with it go on, and prepared calls keep it. A number that is no operator is ignored."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.2"]
    pub fn mdist_operator_unregister(op: mdist_reduce_op_t);
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mdist_prepared {
    _unused: [u8; 0],
}
pub type mdist_prepared_t = mdist_prepared;
extern "C" {
    #[doc = " Creates a call of a local replica, and checks its arguments."]
    #[doc = ""]
    #[doc = " It fails as the collective would before it waits for others. The call keeps the group and the operator that it names."]
    #[doc = " @param options  for every run of the call"]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.2"]
    pub fn mdist_prepared_create(
        strategy: *mut mdist_strategy_t,
        local_replica: u32,
        description: *const mdist_collective_description_t,
        out: *mut *mut mdist_prepared_t,
        options: *const mdist_call_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Makes the call, as the blocking form of its collective does."]
    #[doc = " @param replica  the local replica that the call was created for"]
    #[doc = " @thread replica   @blocks as mdist_all_reduce   @collective all replicas   @calls-back never   @since 0.2"]
    pub fn mdist_prepared_run(
        replica: *mut mdist_replica_t,
        prepared: *mut mdist_prepared_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Starts the call and returns at once, as mdist_collective_start does."]
    #[doc = " @thread replica   @blocks no   @collective all replicas   @calls-back never   @since 0.2"]
    pub fn mdist_prepared_start(
        replica: *mut mdist_replica_t,
        prepared: *mut mdist_prepared_t,
        out: *mut *mut mdist_work_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Frees a call. NULL is ignored."]
    #[doc = ""]
    #[doc = " Operations that it has started continue."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.2"]
    pub fn mdist_prepared_destroy(prepared: *mut mdist_prepared_t);
}
extern "C" {
    #[doc = " Registers @p step in @p strategy under a name. If a name is registered more than once, the last registration counts."]
    #[doc = ""]
    #[doc = " If a client leads several workers, all of them must register the same names. They must do so before they serve, and"]
    #[doc = " before the client's first command, which compares the names:"]
    #[doc = " - MDIST_ERR_MISMATCH, reason `different_registrations`, on all workers: the message says which name is missing where."]
    #[doc = " - MDIST_ERR_FAILED_PRECONDITION: the registration comes too late."]
    #[doc = ""]
    #[doc = " @param user_data  given to the step on this worker; must stay valid while runs by that name are under way"]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back step, in mdist_run_named and mdist_serve   @since 0.1"]
    pub fn mdist_step_register(
        strategy: *mut mdist_strategy_t,
        name: *const ::std::os::raw::c_char,
        step: mdist_step_fn,
        user_data: *mut ::std::os::raw::c_void,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Registers a function for mdist_update_named, as mdist_step_register does for steps. Steps and updates have separate"]
    #[doc = " names."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back update, in mdist_update_named and mdist_serve   @since 0.1"]
    pub fn mdist_update_register(
        strategy: *mut mdist_strategy_t,
        name: *const ::std::os::raw::c_char,
        update: mdist_update_fn,
        user_data: *mut ::std::os::raw::c_void,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Runs the step that is registered as @p name, as mdist_run does."]
    #[doc = ""]
    #[doc = " On the client it runs on the replicas of all workers. Each worker gets its part of the arguments and gives its part"]
    #[doc = " of the results. Failures:"]
    #[doc = " - MDIST_ERR_NOT_FOUND: no step has that name. The message lists the names that are registered."]
    #[doc = " - A step that fails anywhere ends the session, even if all replicas refuse the same call. The error has the sentence"]
    #[doc = "   of that step, and mdist_error_replica and mdist_error_rank."]
    #[doc = " - A mistake found before the workers are asked (in a name or an argument) ends nothing."]
    #[doc = ""]
    #[doc = " @param io  as in mdist_run; timeout_ns applies to each wait for other workers, also in the step's collectives"]
    #[doc = " @thread one at a time per strategy   @blocks until every step has returned   @collective no"]
    #[doc = " @calls-back the step, as mdist_run   @since 0.1"]
    pub fn mdist_run_named(
        strategy: *mut mdist_strategy_t,
        name: *const ::std::os::raw::c_char,
        io: *const mdist_run_io_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Updates @p variable with the update registered as @p name, as mdist_update does. If @p variable is NULL, it works as"]
    #[doc = " mdist_update_devices does; timeout_ns of @p io must be 0."]
    #[doc = ""]
    #[doc = " On the client it updates the copies of all workers. It fails as mdist_run_named does."]
    #[doc = " @thread one at a time per strategy   @blocks until the last copy is done   @collective no"]
    #[doc = " @calls-back the update, as mdist_update   @since 0.1"]
    pub fn mdist_update_named(
        strategy: *mut mdist_strategy_t,
        variable: *mut mdist_variable_t,
        name: *const ::std::os::raw::c_char,
        io: *const mdist_run_io_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Does what the client asks, until the client destroys its strategy. Then it returns MDIST_OK, and the strategy has"]
    #[doc = " nothing more to do."]
    #[doc = ""]
    #[doc = " Steps find the client's variables by mdist_variable_named. While a worker serves, other functions outside of steps"]
    #[doc = " fail on it with MDIST_ERR_WRONG_CONTEXT. Errors:"]
    #[doc = " - MDIST_ERR_PEER_LOST: the client was lost, or ended without destroying its strategy."]
    #[doc = " - The error that mdist_run would give: a step failed on this worker."]
    #[doc = " - MDIST_ERR_ABORTED: a step failed on another worker."]
    #[doc = " - MDIST_ERR_TIMEOUT: no command came in time, which ends the session."]
    #[doc = " - MDIST_ERR_WRONG_CONTEXT: this is the client."]
    #[doc = " - MDIST_ERR_FAILED_PRECONDITION: no client leads this strategy."]
    #[doc = ""]
    #[doc = " @param options  timeout_ns applies to each wait for the client's next command. 0: `communication.timeout`;"]
    #[doc = "                 MDIST_FOREVER: as long as the client is there"]
    #[doc = " @thread one at a time per strategy   @blocks until the client has ended the session   @collective no"]
    #[doc = " @calls-back registered steps and updates   @since 0.1"]
    pub fn mdist_serve(
        strategy: *mut mdist_strategy_t,
        options: *const mdist_call_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mdist_store {
    _unused: [u8; 0],
}
pub type mdist_store_t = mdist_store;
#[doc = " What a store is made for: a job of fixed size, which worker_count says, or an elastic job, which config describes."]
#[doc = ""]
#[doc = " A secret is the content of the workers' secret file without the newline at its end: at least 32 random bytes"]
#[doc = " (`mdist secret` writes such a file). Passwords are not supported: they can be guessed. Without a secret, anybody who"]
#[doc = " reaches the address may join while the job forms."]
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mdist_store_options {
    pub struct_size: u32,
    pub worker_count: u32,
    pub restart: u32,
    pub reserved: u32,
    pub job: *const ::std::os::raw::c_char,
    pub secret: *const ::std::os::raw::c_char,
    pub config: *const mdist_config_t,
}
#[test]
fn bindgen_test_layout_mdist_store_options() {
    assert_eq!(
        ::std::mem::size_of::<mdist_store_options>(),
        40usize,
        concat!("Size of: ", stringify!(mdist_store_options))
    );
    assert_eq!(
        ::std::mem::align_of::<mdist_store_options>(),
        8usize,
        concat!("Alignment of ", stringify!(mdist_store_options))
    );
    fn test_field_struct_size() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_store_options>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).struct_size) as usize - ptr as usize
            },
            0usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_store_options),
                "::",
                stringify!(struct_size)
            )
        );
    }
    test_field_struct_size();
    fn test_field_worker_count() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_store_options>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).worker_count) as usize - ptr as usize
            },
            4usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_store_options),
                "::",
                stringify!(worker_count)
            )
        );
    }
    test_field_worker_count();
    fn test_field_restart() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_store_options>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).restart) as usize - ptr as usize
            },
            8usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_store_options),
                "::",
                stringify!(restart)
            )
        );
    }
    test_field_restart();
    fn test_field_reserved() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_store_options>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).reserved) as usize - ptr as usize
            },
            12usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_store_options),
                "::",
                stringify!(reserved)
            )
        );
    }
    test_field_reserved();
    fn test_field_job() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_store_options>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).job) as usize - ptr as usize
            },
            16usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_store_options),
                "::",
                stringify!(job)
            )
        );
    }
    test_field_job();
    fn test_field_secret() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_store_options>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).secret) as usize - ptr as usize
            },
            24usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_store_options),
                "::",
                stringify!(secret)
            )
        );
    }
    test_field_secret();
    fn test_field_config() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_store_options>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).config) as usize - ptr as usize
            },
            32usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_store_options),
                "::",
                stringify!(config)
            )
        );
    }
    test_field_config();
}
#[doc = " What a store is made for: a job of fixed size, which worker_count says, or an elastic job, which config describes."]
#[doc = ""]
#[doc = " A secret is the content of the workers' secret file without the newline at its end: at least 32 random bytes"]
#[doc = " (`mdist secret` writes such a file). Passwords are not supported: they can be guessed. Without a secret, anybody who"]
#[doc = " reaches the address may join while the job forms."]
pub type mdist_store_options_t = mdist_store_options;
#[doc = " What mdist_store_describe tells of a store. A text that does not fit is cut off."]
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mdist_store_info {
    pub struct_size: u32,
    pub joined: u32,
    pub first_gone: u32,
    pub ended: i32,
    pub committed: i32,
    pub address: [::std::os::raw::c_char; 320usize],
    pub progress: [::std::os::raw::c_char; 3072usize],
}
#[test]
fn bindgen_test_layout_mdist_store_info() {
    assert_eq!(
        ::std::mem::size_of::<mdist_store_info>(),
        3412usize,
        concat!("Size of: ", stringify!(mdist_store_info))
    );
    assert_eq!(
        ::std::mem::align_of::<mdist_store_info>(),
        4usize,
        concat!("Alignment of ", stringify!(mdist_store_info))
    );
    fn test_field_struct_size() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_store_info>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).struct_size) as usize - ptr as usize
            },
            0usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_store_info),
                "::",
                stringify!(struct_size)
            )
        );
    }
    test_field_struct_size();
    fn test_field_joined() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_store_info>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).joined) as usize - ptr as usize
            },
            4usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_store_info),
                "::",
                stringify!(joined)
            )
        );
    }
    test_field_joined();
    fn test_field_first_gone() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_store_info>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).first_gone) as usize - ptr as usize
            },
            8usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_store_info),
                "::",
                stringify!(first_gone)
            )
        );
    }
    test_field_first_gone();
    fn test_field_ended() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_store_info>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).ended) as usize - ptr as usize
            },
            12usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_store_info),
                "::",
                stringify!(ended)
            )
        );
    }
    test_field_ended();
    fn test_field_committed() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_store_info>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).committed) as usize - ptr as usize
            },
            16usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_store_info),
                "::",
                stringify!(committed)
            )
        );
    }
    test_field_committed();
    fn test_field_address() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_store_info>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).address) as usize - ptr as usize
            },
            20usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_store_info),
                "::",
                stringify!(address)
            )
        );
    }
    test_field_address();
    fn test_field_progress() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_store_info>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).progress) as usize - ptr as usize
            },
            340usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_store_info),
                "::",
                stringify!(progress)
            )
        );
    }
    test_field_progress();
}
#[doc = " What mdist_store_describe tells of a store. A text that does not fit is cut off."]
pub type mdist_store_info_t = mdist_store_info;
extern "C" {
    #[doc = " Creates a store: binds an address and begins to serve."]
    #[doc = ""]
    #[doc = " The store of an elastic job (elastic.h) decides which workers make up each generation, so it must not end before the"]
    #[doc = " job does. Give it the same keys `elastic.*` and `communication.heartbeat_timeout` as the workers. Without a secret it"]
    #[doc = " takes no worker after the first generation has formed, unless its `elastic.open` is true."]
    #[doc = ""]
    #[doc = " With the key `elastic.state` it keeps what it knows in that folder. If its process ends, create a store again with"]
    #[doc = " the same address, keys and job. It goes on where the other one was, and the workers come back to it. Until then"]
    #[doc = " they work on; only a regroup waits for it, up to `communication.join_timeout`. When the job is over, it removes what"]
    #[doc = " it has kept."]
    #[doc = ""]
    #[doc = " Errors:"]
    #[doc = " - MDIST_ERR_INVALID_ARGUMENT: among others, not exactly one of worker_count and config is set, or the secret is too"]
    #[doc = "   short."]
    #[doc = " - MDIST_ERR_RESOURCE, reason `address_in_use`: the port is in use."]
    #[doc = " - MDIST_ERR_NOT_FOUND, reason `name_resolution`: the host's name cannot be resolved."]
    #[doc = " - MDIST_ERR_UNSUPPORTED, reason `not_built`: a secret was given, and this build has no cryptography."]
    #[doc = ""]
    #[doc = " Errors of an elastic job:"]
    #[doc = " - MDIST_ERR_CONFIG: `elastic.replicas` is not set, or the keys contradict each other. Reason `different_job`: the"]
    #[doc = "   folder has the state of another job. Reason `different_version`: another libmdist has written it. Reason"]
    #[doc = "   `bad_address`: port 0, together with `elastic.state`."]
    #[doc = " - MDIST_ERR_FAILED_PRECONDITION, reason `busy`: another process serves from that folder."]
    #[doc = " - MDIST_ERR_IO: the folder cannot be created, read or locked."]
    #[doc = " - MDIST_ERR_DATA_LOSS: the state in it is damaged."]
    #[doc = ""]
    #[doc = " @param address  \"host:port\" or \"[ipv6]:port\". Port 0 takes a free port, which mdist_store_describe tells. The host"]
    #[doc = "                 must be one of this machine's own addresses; no other is bound"]
    #[doc = " @thread any   @blocks on the resolution of the host's name, up to 10 s   @collective no   @calls-back never"]
    #[doc = " @since 0.1"]
    pub fn mdist_store_create(
        address: *const ::std::os::raw::c_char,
        out: *mut *mut mdist_store_t,
        options: *const mdist_store_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Describes a store as it is at this moment."]
    #[doc = ""]
    #[doc = " - If an elastic job has failed for good, it fails with why, as the workers get it from mdist_regroup. @p out is"]
    #[doc = "   filled all the same. Any other error leaves it as it was."]
    #[doc = " - A launcher whose workers fail together learns from first_gone which one failed first: the first to go, before"]
    #[doc = "   anything had failed for it. The others fail because it left. It is MDIST_NONE if no session has ended in this way"]
    #[doc = "   since the store was made or restarted; if all workers of the next session have joined since; if the first to go was"]
    #[doc = "   lost without saying that it leaves; and in an elastic job."]
    #[doc = " - The caller sets struct_size, and sets all other fields to 0."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.3"]
    pub fn mdist_store_describe(
        store: *const mdist_store_t,
        out: *mut mdist_store_info_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Tells the store of an elastic job that the process of a worker has ended."]
    #[doc = ""]
    #[doc = " Without it, the store waits for a worker that was killed until that was silent for `communication.heartbeat_timeout`."]
    #[doc = " @param id  the number in the worker's variable MDIST_WORKER_ID, which the launcher chose at random"]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.2"]
    pub fn mdist_store_worker_ended(
        store: *mut mdist_store_t,
        id: u64,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
pub const MDIST_DEPARTURE_JOB_FAILED: mdist_departure = 0;
pub const MDIST_DEPARTURE_LOST: mdist_departure = 1;
pub const MDIST_DEPARTURE_LEFT: mdist_departure = 2;
pub const MDIST_DEPARTURE_PIN_INT32: mdist_departure = -2147483648;
#[doc = " Why a worker is out of an elastic job although nobody has told the store that its process has ended."]
pub type mdist_departure = ::std::os::raw::c_int;
#[doc = " Why a worker is out of an elastic job although nobody has told the store that its process has ended."]
pub use self::mdist_departure as mdist_departure_t;
extern "C" {
    #[doc = " Takes the next worker that is out of an elastic job although nobody has told the store that its process has ended."]
    #[doc = ""]
    #[doc = " Each worker is told once. A launcher asks now and then, such as five times a second."]
    #[doc = " @param id         receives the number in the worker's variable MDIST_WORKER_ID, or 0 if there is no such worker for"]
    #[doc = "                   now"]
    #[doc = " @param departure  receives an mdist_departure_t; may be NULL"]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.3"]
    pub fn mdist_store_left_behind(
        store: *mut mdist_store_t,
        id: *mut u64,
        departure: *mut i32,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Asks a worker of an elastic job to leave, so that the job goes on with fewer workers and loses no step."]
    #[doc = ""]
    #[doc = " From now on mdist_membership_check tells all workers to commit and regroup. In the regroup the others take over its"]
    #[doc = " replicas, and its mdist_regroup fails with MDIST_ERR_ABORTED, reason `dismissed`. Of several such workers one leaves"]
    #[doc = " with each regroup. A worker stays while the job would have fewer than `elastic.min_workers` without it. One that has"]
    #[doc = " not joined yet is refused when it comes."]
    #[doc = " @param id  as in mdist_store_worker_ended"]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.2"]
    pub fn mdist_store_dismiss(
        store: *mut mdist_store_t,
        id: u64,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Prepares the store for another start of the job. From now on it waits for the workers of that start."]
    #[doc = ""]
    #[doc = " @p restart must be larger than before. Workers of the earlier start that are still connected are disconnected. New"]
    #[doc = " ones of it are refused as stale (MDIST_ERR_FAILED_PRECONDITION, reason `stale_session`). The address stays the same."]
    #[doc = " @param worker_count  may be different from before"]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_store_restart(
        store: *mut mdist_store_t,
        worker_count: u32,
        restart: u32,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Ends the store and frees its address. Workers that have formed their session continue without it."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_store_destroy(store: *mut mdist_store_t);
}
extern "C" {
    #[doc = " Opens a run."]
    #[doc = ""]
    #[doc = " From here to mdist_run_end the strategy is busy, and each local replica may be entered once. Inside a merge that"]
    #[doc = " mdist_merge_begin opened, this call opens a nested run. The first run of an elastic job makes a commit first, as"]
    #[doc = " mdist_commit does."]
    #[doc = " @param io  as in mdist_run, but results is NULL: result_count says how many replicas may set, and mdist_run_end gives"]
    #[doc = "            them"]
    #[doc = " @thread one at a time per strategy   @blocks no; in that commit: for the other workers"]
    #[doc = " @collective no; that commit: all workers   @calls-back never; in that commit: the blobs' save functions   @since 0.1"]
    pub fn mdist_run_begin(
        strategy: *mut mdist_strategy_t,
        io: *const mdist_run_io_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Closes the run and returns what mdist_run would: the first failure of any replica, else MDIST_OK and the results."]
    #[doc = ""]
    #[doc = " These are MDIST_ERR_FAILED_PRECONDITION:"]
    #[doc = " - reason `replica_inside`: a replica is still inside; the run stays open"]
    #[doc = " - reason `not_entered`: a replica never entered, and nothing else failed; the run is closed"]
    #[doc = " - reason `no_run`: no run is open"]
    #[doc = ""]
    #[doc = " Call it after a failure and after mdist_strategy_abort, too. Do not call it after mdist_strategy_destroy: then the"]
    #[doc = " last replica to exit closes the run."]
    #[doc = " @param results       receives @p result_count values, as in mdist_run"]
    #[doc = " @param result_count  as in mdist_run_begin, else MDIST_ERR_INVALID_ARGUMENT, and the run stays open"]
    #[doc = " @thread any, when the replicas have left   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_run_end(
        strategy: *mut mdist_strategy_t,
        results: *mut *mut mdist_value_t,
        result_count: usize,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Enters the step of local replica @p local_replica."]
    #[doc = ""]
    #[doc = " @p out is in replica context until mdist_replica_exit, and works with every function of replica context. Entering a"]
    #[doc = " replica twice in one run fails with reason `entered_before`. If a replica's thread cannot come while others wait for"]
    #[doc = " that replica, any thread may enter it and exit it with a code."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_replica_enter(
        strategy: *mut mdist_strategy_t,
        local_replica: u32,
        out: *mut *mut mdist_replica_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Leaves the step; the handle dies."]
    #[doc = ""]
    #[doc = " A @p code other than 0 fails the run and releases all other replicas, as a step that returns it does."]
    #[doc = ""]
    #[doc = " The run also fails in these cases. This call then returns an error, but the replica has left all the same:"]
    #[doc = " - reason `work_under_way`: an operation is still under way (mdist_collective_start)"]
    #[doc = " - reason `merge_open`: a merge is still open"]
    #[doc = ""]
    #[doc = " mdist_run_end returns the first cause, so you need to check only there."]
    #[doc = ""]
    #[doc = " Exception: local replica 0 stays inside, reason `busy`, while another thread is at work in its open merge."]
    #[doc = " @thread any, one at a time per replica   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_replica_exit(
        replica: *mut mdist_replica_t,
        code: i32,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Opens a merge without a function."]
    #[doc = ""]
    #[doc = " Every local replica, entered by mdist_replica_enter, calls this and then mdist_merge_end. Local replica 0's code in"]
    #[doc = " between happens once for all, in cross-replica context. Any thread may call functions that take a strategy there."]
    #[doc = " (mdist_merge_call works for entered replicas, too. In a step of mdist_run it is the only way.)"]
    #[doc = ""]
    #[doc = " If this call fails, no merge is open. Do not call mdist_merge_end then."]
    #[doc = " @param arguments  this replica's tensors, as in mdist_merge_call"]
    #[doc = " @param values     on local replica 0: receives the replicas' tensors regrouped, @p argument_count values that you"]
    #[doc = "                   own. On the others: receives NULLs. May be NULL if @p argument_count is 0."]
    #[doc = " @thread any, one at a time per replica   @blocks until every local replica has called it"]
    #[doc = " @collective local replicas   @calls-back never   @since 0.1"]
    pub fn mdist_merge_begin(
        replica: *mut mdist_replica_t,
        arguments: *const mdist_tensor_t,
        argument_count: usize,
        values: *mut *mut mdist_value_t,
        options: *const mdist_call_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Closes the merge and hands each replica its own part of the values that local replica 0 passes."]
    #[doc = ""]
    #[doc = " Two failures change nothing: reason `no_merge`, and reason `busy` on local replica 0 while another thread is at work"]
    #[doc = " in the merge. Any other failure closes the merge, too, and fails the run."]
    #[doc = " @param values   on local replica 0: @p count values; NULL for a result that no replica receives. They stay yours. On"]
    #[doc = "                 the others: not read."]
    #[doc = " @param results  receives @p count descriptions, borrowed until this replica's next merge or its exit. data is NULL"]
    #[doc = "                 and dtype 0 for a structure (mdist_replica_merge_result) and for a NULL. @p count is the same on"]
    #[doc = "                 every replica, else MDIST_ERR_MISMATCH."]
    #[doc = " @param code     on local replica 0: a number other than 0 fails the run, as from a merge function, and values are not"]
    #[doc = "                 read. On the others: 0."]
    #[doc = " @thread any, one at a time per replica"]
    #[doc = " @blocks until local replica 0 has called it, however long that takes, or mdist_strategy_abort"]
    #[doc = " @collective local replicas   @calls-back never   @since 0.1"]
    pub fn mdist_merge_end(
        replica: *mut mdist_replica_t,
        code: i32,
        values: *const *mut mdist_value_t,
        results: *mut mdist_tensor_t,
        count: usize,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
