// SPDX-License-Identifier: Apache-2.0
// Made by regenerate.

pub const MDIST_VERSION_MAJOR: u32 = 0;
pub const MDIST_VERSION_MINOR: u32 = 1;
pub const MDIST_VERSION_PATCH: u32 = 0;
pub const MDIST_VERSION: u32 = 100;
pub const MDIST_FOREVER: u64 = 9223372036854775807;
pub const MDIST_MAX_RANK: u32 = 8;
pub const MDIST_ROWS: u64 = 9223372036854775807;
pub const MDIST_UNKNOWN: u64 = 9223372036854775807;
pub const MDIST_LATEST: u64 = 9223372036854775807;
pub const MDIST_RESTORE_PARTIAL: u32 = 1;
pub const MDIST_GENERATOR_ANY_THREAD: u32 = 1;
pub const MDIST_SHARD_HINT: u64 = 9223372036854775807;
pub const MDIST_INPUT_NO_SPLIT: u32 = 1;
pub const MDIST_INPUT_WHOLE_STEPS: u32 = 2;
pub const MDIST_INPUT_PLACE_ON_DEVICE: u32 = 4;
pub type __int32_t = ::std::os::raw::c_int;
pub type __uint32_t = ::std::os::raw::c_uint;
pub type __int64_t = ::std::os::raw::c_long;
pub type __uint64_t = ::std::os::raw::c_ulong;
#[doc = " Releases what a callback was registered with. Called exactly once for every registration that took it, also when the"]
#[doc = " registration failed, as soon as nothing that kept it is left. May run on a thread of the library. May call `_destroy`"]
#[doc = " functions and mdist_free, nothing else of the library; must not throw or end its thread."]
pub type mdist_free_fn =
    ::std::option::Option<unsafe extern "C" fn(user_data: *mut ::std::os::raw::c_void)>;
extern "C" {
    #[doc = " Version of the library that is running, as MDIST_VERSION counts."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_version() -> u32;
}
extern "C" {
    #[doc = " Whether this build and this host can do something: \"cuda\", \"nccl\", \"gloo\", \"shm\", \"secret\" (of a job), \"avx2\" ..."]
    #[doc = " Unknown names, and NULL, answer 0."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
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
#[doc = " 0: ok. Positive: not an error. Negative: an error. The list is closed and its numbers never change."]
pub type mdist_status = ::std::os::raw::c_int;
#[doc = " 0: ok. Positive: not an error. Negative: an error. The list is closed and its numbers never change."]
pub use self::mdist_status as mdist_status_t;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mdist_error {
    _unused: [u8; 0],
}
#[doc = " What went wrong, in full. Yours; free with mdist_error_free."]
pub type mdist_error_t = mdist_error;
extern "C" {
    #[doc = " The constant's name, such as \"MDIST_ERR_TIMEOUT\"; \"MDIST_ERR_?\" for a number that is none. Static text."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_status_name(status: mdist_status_t) -> *const ::std::os::raw::c_char;
}
extern "C" {
    #[doc = " The status that the failing call returned. NULL: MDIST_OK."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_error_status(error: *const mdist_error_t) -> mdist_status_t;
}
extern "C" {
    #[doc = " One English sentence with the bad value, the place, and what would be right. Borrowed from @p error. NULL: \"\"."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_error_message(error: *const mdist_error_t) -> *const ::std::os::raw::c_char;
}
extern "C" {
    #[doc = " A stable word for programs, such as \"unknown_key\" or \"step_returned\"; \"\" where the status says enough."]
    #[doc = " Borrowed from @p error. NULL: \"\"."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_error_reason(error: *const mdist_error_t) -> *const ::std::os::raw::c_char;
}
extern "C" {
    #[doc = " The call or collective that failed, such as \"mdist_all_reduce\". Borrowed from @p error. NULL: \"\"."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_error_operation(error: *const mdist_error_t) -> *const ::std::os::raw::c_char;
}
extern "C" {
    #[doc = " Replica id of the one at fault, or -1 where it is nobody's or not known."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_error_replica(error: *const mdist_error_t) -> i32;
}
extern "C" {
    #[doc = " The worker at fault (its rank, from 0), or -1 where it is nobody's or not known: the one that is lost, or late, or"]
    #[doc = " that called something else."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_error_worker(error: *const mdist_error_t) -> i32;
}
extern "C" {
    #[doc = " The number underneath: your callback's return value, errno, a CUDA or NCCL code; 0 where there is none."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_error_native(error: *const mdist_error_t) -> i64;
}
extern "C" {
    #[doc = " Frees an error. NULL is fine."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_error_free(error: *mut mdist_error_t);
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mdist_config {
    _unused: [u8; 0],
}
pub type mdist_config_t = mdist_config;
extern "C" {
    #[doc = " An empty config: every key at its default, the environment not looked at."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_config_create(
        out: *mut *mut mdist_config_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Sets one key. The value is checked at once: an unknown key names its nearest neighbour, a bad value says what the key"]
    #[doc = " takes; both are MDIST_ERR_CONFIG and leave the config as it was."]
    #[doc = " @thread one at a time per config   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_config_set(
        config: *mut mdist_config_t,
        key: *const ::std::os::raw::c_char,
        value: *const ::std::os::raw::c_char,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Reads the text of a key (its default where nobody set it) into @p text of @p capacity bytes, NUL included, cut off"]
    #[doc = " where it does not fit; @p needed (may be NULL) receives the full size, NUL included."]
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
    #[doc = " Loads a YAML file: all of it or, on an error (with line and column), nothing. A regular file of at most 64 KiB."]
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
    #[doc = " Loads what the environment says: the file named by MDIST_CONFIG first, then every `MDIST_*` key over it. An unknown"]
    #[doc = " `MDIST_*` variable is a warning in the log, not an error, since others may own it."]
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
pub const MDIST_DTYPE_PIN_INT32: mdist_dtype = -2147483648;
#[doc = " Element types. 0 is none of them, so that a forgotten field is found."]
pub type mdist_dtype = ::std::os::raw::c_int;
#[doc = " Element types. 0 is none of them, so that a forgotten field is found."]
pub use self::mdist_dtype as mdist_dtype_t;
pub const MDIST_DEVICE_CPU: mdist_device_kind = 0;
pub const MDIST_DEVICE_GPU: mdist_device_kind = 1;
pub const MDIST_DEVICE_PIN_INT32: mdist_device_kind = -2147483648;
#[doc = " Where memory lies."]
pub type mdist_device_kind = ::std::os::raw::c_int;
#[doc = " Where memory lies."]
pub use self::mdist_device_kind as mdist_device_kind_t;
#[doc = " A run of elements. Any address will do; 64-byte aligned ones are fastest."]
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
#[doc = " A run of elements. Any address will do; 64-byte aligned ones are fastest."]
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
    #[doc = " Bytes of one element; 0 for a number that is no type."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_dtype_size(dtype: mdist_dtype_t) -> usize;
}
extern "C" {
    #[doc = " \"float32\", \"bfloat16\" ...; \"?\" for a number that is no type. Static text."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_dtype_name(dtype: mdist_dtype_t) -> *const ::std::os::raw::c_char;
}
extern "C" {
    #[doc = " Fills @p out with a description of host memory at @p data (may be NULL: to be filled in, or zeros where a function"]
    #[doc = " says so; cast away const where it is only read). Checks type, rank and that the size in bytes fits. Without data the"]
    #[doc = " first dimension may be MDIST_ROWS, for mdist_dataset_map."]
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
    #[doc = " Product of the dimensions (1 for a scalar); 0 for NULL or a tensor that mdist_tensor_describe would refuse."]
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
    #[doc = " A plain value with a copy of @p tensor where that lies, on the host or a GPU; zeros where its data is NULL."]
    #[doc = " @thread any   @blocks for the copy, on GPUs   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_value_create(
        tensor: *const mdist_tensor_t,
        out: *mut *mut mdist_value_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " A plain value around the caller's own memory (kept, not copied). The memory must stay valid and unchanged until"]
    #[doc = " @p free_user_data runs; with NULL there, for as long as anything may read the value."]
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
    #[doc = " A per-replica value with copies of @p tensors, one for each local replica in order and on its device, wherever they"]
    #[doc = " come from. All have one dtype."]
    #[doc = " @param count  must be the number of local replicas"]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_value_per_replica(
        strategy: *mut mdist_strategy_t,
        tensors: *const mdist_tensor_t,
        count: usize,
        out: *mut *mut mdist_value_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " A mirrored value with a copy of a plain one on every local device; of a structure, leaf by leaf. What is mirrored"]
    #[doc = " already is shared; a per-replica leaf is MDIST_ERR_INVALID_ARGUMENT, for nobody could say which content was meant."]
    #[doc = " (mdist_broadcast_to does it for one tensor.)"]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_value_mirrored(
        strategy: *mut mdist_strategy_t,
        value: *const mdist_value_t,
        out: *mut *mut mdist_value_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " The kind; MDIST_VALUE_NONE for a bad handle."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_value_kind(value: *const mdist_value_t) -> mdist_value_kind_t;
}
extern "C" {
    #[doc = " How many tensors it holds: 1 for a plain value, else the number of local replicas; 0 for a structure or a bad handle."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_value_count(value: *const mdist_value_t) -> usize;
}
extern "C" {
    #[doc = " Describes tensor @p index of a value that is no structure, and says where it lies (device_kind). Its memory is"]
    #[doc = " borrowed until the value is destroyed; only read it."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_value_tensor(
        value: *const mdist_value_t,
        index: usize,
        out: *mut mdist_tensor_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " A structure of @p count leaves at @p paths; it shares their tensors, and the handles stay yours. A leaf that is a"]
    #[doc = " structure itself brings its leaves, below its path. Their order does not matter: leaves are sorted by path, positions"]
    #[doc = " by number. No leaves is fine; one leaf with the path \"\" gives that value itself."]
    #[doc = " MDIST_ERR_INVALID_ARGUMENT names the path that does not fit."]
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
    #[doc = " Leaves of a structure; 1 for any other value, 0 for a bad handle."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_value_leaf_count(value: *const mdist_value_t) -> usize;
}
extern "C" {
    #[doc = " Path of leaf @p index, borrowed until the value is destroyed; \"\" where there is no structure, for an index out of"]
    #[doc = " range, and for a bad handle."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_value_leaf_path(
        value: *const mdist_value_t,
        index: usize,
    ) -> *const ::std::os::raw::c_char;
}
extern "C" {
    #[doc = " The leaf at @p path, or what lies below it as a structure of its own (\"grads\" of \"grads.0\" and \"grads.1\" has \"0\" and"]
    #[doc = " \"1\"); \"\" is the whole. It shares the tensors and outlives @p value. MDIST_ERR_NOT_FOUND lists what there is."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_value_at(
        value: *const mdist_value_t,
        path: *const ::std::os::raw::c_char,
        out: *mut *mut mdist_value_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
#[doc = " Gives what replica @p replica_id of @p replica_count shall have: a plain value or a structure of such, which it made"]
#[doc = " and hands over in @p out, also if it fails. Returns 0, or any other number to fail the call, which mdist_error_native"]
#[doc = " then gives."]
pub type mdist_value_fn = ::std::option::Option<
    unsafe extern "C" fn(
        replica_id: u32,
        replica_count: u32,
        out: *mut *mut mdist_value_t,
        user_data: *mut ::std::os::raw::c_void,
    ) -> i32,
>;
extern "C" {
    #[doc = " Calls @p function for each local replica, one after another, and regroups what it gives: a per-replica value, also"]
    #[doc = " with one replica, or a structure of such. Paths and dtypes must be the same for all, else MDIST_ERR_MISMATCH. It"]
    #[doc = " shares the tensors. (TensorFlow: Strategy.experimental_distribute_values_from_function.)"]
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
    #[doc = " Rows of larger tensors, without those that are not there: tensor i of @p values holds rows (slices along its first"]
    #[doc = " dimension), and tensor i of @p indices, int64 and as long as that dimension, says which rows of the larger one they"]
    #[doc = " are; in any order, the same one twice, too. Both values are of one kind. mdist_reduce, mdist_reduce_to,"]
    #[doc = " mdist_batch_reduce_to and mdist_variable_assign take rows; elsewhere they are MDIST_ERR_UNSUPPORTED."]
    #[doc = " (TensorFlow: IndexedSlices.)"]
    #[doc = " @param out  shares the tensors of both, which may be destroyed"]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_value_rows(
        indices: *const mdist_value_t,
        values: *const mdist_value_t,
        out: *mut *mut mdist_value_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Describes the indices of tensor @p index, which mdist_value_tensor gives the rows of; data NULL and dtype 0 for a"]
    #[doc = " value of whole tensors. Borrowed until the value is destroyed; only read it."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_value_indices(
        value: *const mdist_value_t,
        index: usize,
        out: *mut mdist_tensor_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Frees a value. NULL is fine."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back as mdist_value_wrap and dlpack.h say   @since 0.1"]
    pub fn mdist_value_destroy(value: *mut mdist_value_t);
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mdist_replica {
    _unused: [u8; 0],
}
#[doc = " A replica inside its step. The handle dies when the step returns, or by mdist_replica_exit."]
pub type mdist_replica_t = mdist_replica;
pub const MDIST_IMPLEMENTATION_AUTO: mdist_implementation = 0;
pub const MDIST_IMPLEMENTATION_RING: mdist_implementation = 1;
pub const MDIST_IMPLEMENTATION_NCCL: mdist_implementation = 2;
pub const MDIST_IMPLEMENTATION_PIN_INT32: mdist_implementation = -2147483648;
#[doc = " What moves the bytes of one call."]
pub type mdist_implementation = ::std::os::raw::c_int;
#[doc = " What moves the bytes of one call."]
pub use self::mdist_implementation as mdist_implementation_t;
#[doc = " Options of one call. NULL, or all zero but struct_size: the strategy's defaults. (TensorFlow: CommunicationOptions.)"]
#[doc = " With packs, a reduction of many buffers or values is cut into several operations, one after another: buffers of one"]
#[doc = " dtype, in the order of the call, until a pack is larger than @p bytes_per_pack. The result has the same bits. Each"]
#[doc = " operation is compared with the other replicas' and has the whole timeout; if one fails, those before it are done."]
#[doc = " mdist_all_reduce, mdist_strategy_all_reduce, mdist_reduce without axes, mdist_reduce_to and mdist_batch_reduce_to"]
#[doc = " take packs; collectives that are started refuse them, others have no use for them."]
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mdist_call_options {
    pub struct_size: u32,
    pub flags: u32,
    pub timeout_ns: u64,
    pub bytes_per_pack: i64,
    pub implementation: i32,
    pub reserved: u32,
}
#[test]
fn bindgen_test_layout_mdist_call_options() {
    assert_eq!(
        ::std::mem::size_of::<mdist_call_options>(),
        32usize,
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
}
#[doc = " Options of one call. NULL, or all zero but struct_size: the strategy's defaults. (TensorFlow: CommunicationOptions.)"]
#[doc = " With packs, a reduction of many buffers or values is cut into several operations, one after another: buffers of one"]
#[doc = " dtype, in the order of the call, until a pack is larger than @p bytes_per_pack. The result has the same bits. Each"]
#[doc = " operation is compared with the other replicas' and has the whole timeout; if one fails, those before it are done."]
#[doc = " mdist_all_reduce, mdist_strategy_all_reduce, mdist_reduce without axes, mdist_reduce_to and mdist_batch_reduce_to"]
#[doc = " take packs; collectives that are started refuse them, others have no use for them."]
pub type mdist_call_options_t = mdist_call_options;
extern "C" {
    #[doc = " Creates a strategy from @p config, or from the environment if it is NULL. The replicas' threads start here, and"]
    #[doc = " `log.level` takes effect, if it is set."]
    #[doc = " Where that names other workers (docs/configuration.md; a config that you made looks at the environment only if it was"]
    #[doc = " loaded with mdist_config_load_environment), this is when they meet: it returns when all have come, or fails on all."]
    #[doc = " MDIST_ERR_TIMEOUT after `communication.join_timeout` names those who are missing. Workers that are configured"]
    #[doc = " differently, or have another number of replicas, are MDIST_ERR_CONFIG."]
    #[doc = " Fails with MDIST_ERR_UNSUPPORTED, saying why, where the config names devices that this build or host lacks; never"]
    #[doc = " falls back to a smaller world in silence. (TensorFlow: MirroredStrategy, MultiWorkerMirroredStrategy.)"]
    #[doc = " @thread any   @blocks for the other workers, and on the config file if NULL   @collective all workers"]
    #[doc = " @calls-back never   @since 0.1"]
    pub fn mdist_strategy_create(
        config: *const mdist_config_t,
        out: *mut *mut mdist_strategy_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Ends all collectives of the strategy, on all workers: waiting calls return MDIST_ERR_ABORTED now, and later runs,"]
    #[doc = " collectives, reductions and gathers at once, as after a timeout. Variables, values and datasets go on working, so"]
    #[doc = " that one can save what there is. Steps run on to their own end. A bad handle is ignored. Takes a lock: not for"]
    #[doc = " signal handlers."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_strategy_abort(strategy: *mut mdist_strategy_t);
}
extern "C" {
    #[doc = " MDIST_OK while collectives can go on; else what ended them all, as the first call in it was told: MDIST_ERR_PEER_LOST"]
    #[doc = " with mdist_error_worker, MDIST_ERR_TIMEOUT, MDIST_ERR_ABORTED ... A look at what this worker knows: workers hear of"]
    #[doc = " each other all the time (`communication.heartbeat_timeout`), so a lost one is seen here without any collective."]
    #[doc = " (TensorFlow: check_health.)"]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_strategy_check_health(
        strategy: *const mdist_strategy_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Gives the handle back. Calls under way in other threads are aborted and finish; the last of them frees the rest, so"]
    #[doc = " this one never waits for them. Variables, values and datasets may be destroyed before or after. NULL is fine."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_strategy_destroy(strategy: *mut mdist_strategy_t);
}
extern "C" {
    #[doc = " Replicas in the whole job (TensorFlow: num_replicas_in_sync); 0 for a bad handle."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_strategy_replica_count(strategy: *const mdist_strategy_t) -> u32;
}
extern "C" {
    #[doc = " Replicas of this worker; 0 for a bad handle."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_strategy_local_replica_count(strategy: *const mdist_strategy_t) -> u32;
}
extern "C" {
    #[doc = " Workers of the job: 1 where this one is alone, also for an evaluator; 0 for a bad handle."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_strategy_worker_count(strategy: *const mdist_strategy_t) -> u32;
}
extern "C" {
    #[doc = " This worker's rank, from 0; its replicas have the ids rank * local replicas and following. -1 for a bad handle."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_strategy_worker(strategy: *const mdist_strategy_t) -> i32;
}
extern "C" {
    #[doc = " 1 on the one worker that does for all what is done once: writes checkpoints and summaries, prints (TensorFlow:"]
    #[doc = " should_checkpoint, should_save_summary). That is rank 0, the chief; a worker that is alone; an evaluator. Else 0,"]
    #[doc = " also for a bad handle."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_strategy_is_chief(strategy: *const mdist_strategy_t) -> i32;
}
extern "C" {
    #[doc = " Name of the device under a local replica (\"cpu:1\"); text, capacity and needed as in mdist_config_get."]
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
#[doc = " Your computation, once per local replica. With `executor: threads` all run at the same time, local replica 0 on the"]
#[doc = " thread that called mdist_run and the others on threads of the library; with `executor: caller` one after another on"]
#[doc = " the calling thread, and whatever waits for other replicas (collectives, merges, creating a variable, assigning to one"]
#[doc = " that is aggregated) is MDIST_ERR_FAILED_PRECONDITION, reason `executor_caller`, unless there is one replica. Returns"]
#[doc = " 0, or any other number to fail the run, which mdist_error_native then gives if that was the first cause. May call any"]
#[doc = " function of replica context."]
pub type mdist_step_fn = ::std::option::Option<
    unsafe extern "C" fn(
        replica: *mut mdist_replica_t,
        user_data: *mut ::std::os::raw::c_void,
    ) -> i32,
>;
extern "C" {
    #[doc = " Runs @p step on every local replica and returns when all have returned: user code is never cut off."]
    #[doc = ""]
    #[doc = " The first failure (a step that returned non-zero, threw or ended its thread, or a collective in it that failed)"]
    #[doc = " releases all replicas that wait in a collective, and is what this call returns; the strategy can be used again,"]
    #[doc = " unless a collective ended by timeout or abort, or there are other workers: a failed run ends the job's collectives on"]
    #[doc = " all of them, since they may have come to different places. (They get MDIST_ERR_ABORTED with the same sentence.) To go"]
    #[doc = " on, all create a strategy anew."]
    #[doc = " Called inside a merge (mdist_merge_call) it runs a nested step on the same replicas. Called in a step it is"]
    #[doc = " MDIST_ERR_WRONG_CONTEXT; while another thread runs this strategy, MDIST_ERR_FAILED_PRECONDITION."]
    #[doc = ""]
    #[doc = " @param options    timeout_ns is for the collectives of this run that give none of their own"]
    #[doc = " @param arguments  values that a step reads by mdist_replica_argument; each replica sees its own tensor of a"]
    #[doc = "                   per-replica or mirrored value, and all see the one of a plain value. May be NULL if the count is 0."]
    #[doc = " @param results    receives @p result_count values set by mdist_replica_set_result: plain with one local replica, else"]
    #[doc = "                   per-replica; NULL where no replica set one. Some setting and some not is MDIST_ERR_MISMATCH. One"]
    #[doc = "                   that was set by mdist_replica_set_result_at is a structure; every replica sets the same paths."]
    #[doc = " @thread one at a time per strategy   @blocks until every step has returned   @collective no"]
    #[doc = " @calls-back step, as its type says   @since 0.1"]
    pub fn mdist_run(
        strategy: *mut mdist_strategy_t,
        step: mdist_step_fn,
        user_data: *mut ::std::os::raw::c_void,
        arguments: *const *mut mdist_value_t,
        argument_count: usize,
        results: *mut *mut mdist_value_t,
        result_count: usize,
        options: *const mdist_call_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
#[doc = " Computes element @p element of mdist_map, in the step of the replica that it fell to: reads arguments and sets"]
#[doc = " results as a step does, the same results for every element. The handle dies with the call. Returns 0, or any other"]
#[doc = " number to fail the run."]
pub type mdist_element_fn = ::std::option::Option<
    unsafe extern "C" fn(
        replica: *mut mdist_replica_t,
        element: u64,
        user_data: *mut ::std::os::raw::c_void,
    ) -> i32,
>;
extern "C" {
    #[doc = " Calls @p function for elements 0 to @p count - 1, element i on replica i mod mdist_strategy_replica_count: all"]
    #[doc = " replicas of the job at the same time, each one element after another. (Elements are numbers; what they stand for is"]
    #[doc = " the function's to know, say rows of an argument.) Results are stacked along a new first axis, a row for each element"]
    #[doc = " of a replica, so that mdist_reduce over axis 0 takes all elements together: MEAN divides by @p count."]
    #[doc = " (TensorFlow: DistributionStrategy.map and its MapOutput.)"]
    #[doc = " Collectives and merges have no place in @p function: replicas have different numbers of elements."]
    #[doc = " @param count      the same on all workers; where there are results, enough to give every worker an element"]
    #[doc = " @param arguments  plain and mirrored values, since an element must not see which replica it fell to"]
    #[doc = " @param results    as in mdist_run, stacked; no rows for a replica without elements. Elements of different types,"]
    #[doc = "                   shapes or paths are MDIST_ERR_MISMATCH."]
    #[doc = " @thread one at a time per strategy   @blocks until the last element is done   @collective no"]
    #[doc = " @calls-back function, as a step of mdist_run   @since 0.1"]
    pub fn mdist_map(
        strategy: *mut mdist_strategy_t,
        count: u64,
        function: mdist_element_fn,
        user_data: *mut ::std::os::raw::c_void,
        arguments: *const *mut mdist_value_t,
        argument_count: usize,
        results: *mut *mut mdist_value_t,
        result_count: usize,
        options: *const mdist_call_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Replica id, 0 to mdist_replica_count - 1 over the whole job; -1 for a bad handle."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_replica_id(replica: *const mdist_replica_t) -> i32;
}
extern "C" {
    #[doc = " Index among this worker's replicas; -1 for a bad handle."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_replica_local_index(replica: *const mdist_replica_t) -> i32;
}
extern "C" {
    #[doc = " Replicas in the whole job; 0 for a bad handle."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_replica_count(replica: *const mdist_replica_t) -> u32;
}
extern "C" {
    #[doc = " Describes this replica's tensor of argument @p index of the run, which lies where the value has it: device_kind says"]
    #[doc = " whether on a GPU. Borrowed until the step returns, or as long as that value lives; only read it."]
    #[doc = " @thread replica   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_replica_argument(
        replica: *mut mdist_replica_t,
        index: usize,
        out: *mut mdist_tensor_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " The same of an argument that is a structure: this replica's tensor at @p path (\"grads.0\"). MDIST_ERR_NOT_FOUND lists"]
    #[doc = " what there is. An argument without structure has the path \"\"."]
    #[doc = " @thread replica   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_replica_argument_at(
        replica: *mut mdist_replica_t,
        index: usize,
        path: *const ::std::os::raw::c_char,
        out: *mut mdist_tensor_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Sets this replica's part of result @p index of the run to a copy of @p tensor. The last call counts."]
    #[doc = " @thread replica   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_replica_set_result(
        replica: *mut mdist_replica_t,
        index: usize,
        tensor: *const mdist_tensor_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Sets one leaf of a result that is a structure. The paths that a step sets must make one (value.h), the same on every"]
    #[doc = " replica; that is checked when all have returned. The last call for a path counts; \"\" is mdist_replica_set_result."]
    #[doc = " @thread replica   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_replica_set_result_at(
        replica: *mut mdist_replica_t,
        index: usize,
        path: *const ::std::os::raw::c_char,
        tensor: *const mdist_tensor_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
#[doc = " Runs once for all local replicas, in cross-replica context, on the thread of local replica 0. @p arguments are the"]
#[doc = " replicas' tensors, regrouped; they die with the call. Each result that it sets in @p results is a value it made and"]
#[doc = " hands over, also if it fails; one that it leaves alone is a result nobody gets. Returns 0, or any other number to"]
#[doc = " fail the run, as a step does. May call any function of cross-replica context."]
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
    #[doc = " Inside, functions of cross-replica context are the right ones, a nested mdist_run too, whose step may merge again."]
    #[doc = " @param arguments  this replica's tensors (copied); the same count and dtypes on every replica. One that was set by"]
    #[doc = "                   mdist_replica_set_merge_argument_at is not read here; NULL if all were."]
    #[doc = " @param results    receives @p result_count descriptions, borrowed until this replica's next merge or the step's end;"]
    #[doc = "                   data NULL and dtype 0 for a structure (mdist_replica_merge_result_at) and for a result that the"]
    #[doc = "                   merge left alone"]
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
    #[doc = " Sets one leaf of argument @p index of this replica's next merge, of either kind, to a copy of @p tensor; the merge"]
    #[doc = " sees a structure there. Every replica sets the same paths, else MDIST_ERR_MISMATCH from the run. The last call for a"]
    #[doc = " path counts; the next merge takes all that was set, and refuses what is beyond its arguments."]
    #[doc = " @thread replica   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_replica_set_merge_argument_at(
        replica: *mut mdist_replica_t,
        index: usize,
        path: *const ::std::os::raw::c_char,
        tensor: *const mdist_tensor_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Describes this replica's tensor at @p path in result @p index of its last merge, borrowed as that one's results are."]
    #[doc = " MDIST_ERR_NOT_FOUND lists what there is; a result without structure has the path \"\"."]
    #[doc = " @thread replica   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_replica_merge_result_at(
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
extern "C" {
    #[doc = " A source whose element i is row i of each array. The arrays (kept, not copied) lie on the host and have one first"]
    #[doc = " dimension in common; they must stay valid and unchanged until @p free_user_data runs; with NULL there, as long as the"]
    #[doc = " dataset, those made from it, their iterators or their elements live."]
    #[doc = " @thread any   @blocks no   @collective no"]
    #[doc = " @calls-back free_user_data, on the thread that drops the last reference   @since 0.1"]
    pub fn mdist_dataset_from_tensors(
        arrays: *const mdist_tensor_t,
        component_count: usize,
        user_data: *mut ::std::os::raw::c_void,
        free_user_data: mdist_free_fn,
        out: *mut *mut mdist_dataset_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Keeps elements index, index + shards, index + 2 * shards ... With MDIST_SHARD_HINT shards it stands for what each"]
    #[doc = " worker is to keep: see input.h."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_dataset_shard(
        source: *const mdist_dataset_t,
        shards: u64,
        index: u64,
        out: *mut *mut mdist_dataset_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Picks each next element at random from a buffer of @p buffer_size, refilled from the source. A buffer as large as the"]
    #[doc = " dataset shuffles it evenly. The order is a function of @p seed and of how often this dataset was iterated: two"]
    #[doc = " programs, or two workers, that do the same with one seed see one order."]
    #[doc = " @param reshuffle_each_iteration  non-zero: another order each time, counting the iterators of this dataset and of all"]
    #[doc = "                                  made from it in the order of their creation, and epochs of mdist_dataset_repeat"]
    #[doc = "                                  within each; a restarted program begins with the first, or goes on where an"]
    #[doc = "                                  iterator is restored. 0: the same order every time"]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_dataset_shuffle(
        source: *const mdist_dataset_t,
        buffer_size: u64,
        seed: u64,
        reshuffle_each_iteration: i32,
        out: *mut *mut mdist_dataset_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " The source @p count times over, or MDIST_FOREVER."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_dataset_repeat(
        source: *const mdist_dataset_t,
        count: u64,
        out: *mut *mut mdist_dataset_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
#[doc = " Computes one element from another, into memory that is already there, content undefined: outputs have the dtypes and"]
#[doc = " shapes given to mdist_dataset_map. Returns 0, or any other number to end the iteration with MDIST_ERR_CALLBACK, which"]
#[doc = " mdist_error_native then gives. Runs on the thread that asks for the element or, where mdist_dataset_prefetch,"]
#[doc = " mdist_dataset_map_parallel or fetching to devices (input.h) follows, on threads of the iterator; one call at a time"]
#[doc = " per iterator, but for mdist_dataset_map_parallel. Must not call the iterator it serves."]
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
    #[doc = " @param outputs  dtype and shape of each output component; data is not read; the first dimension may be MDIST_ROWS"]
    #[doc = " @param user_data  kept, with @p map, until the dataset, those made from it and their iterators are gone"]
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
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Joins @p batch_size consecutive elements along a new first dimension. The last batch may be shorter; with"]
    #[doc = " @p drop_remainder non-zero it is left out then. Elements of one batch have equal shapes, else MDIST_ERR_MISMATCH."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_dataset_batch(
        source: *const mdist_dataset_t,
        batch_size: u64,
        drop_remainder: i32,
        out: *mut *mut mdist_dataset_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Prepares up to @p elements ahead, on a thread of each iterator."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_dataset_prefetch(
        source: *const mdist_dataset_t,
        elements: u64,
        out: *mut *mut mdist_dataset_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " The same elements, with their components at @p paths, names and positions as in value.h: where components lie when"]
    #[doc = " an element is taken as one value. Transforms keep names, but for those that make components of their own (map)."]
    #[doc = " (TensorFlow: elements that are dictionaries.)"]
    #[doc = " @param count  must be mdist_dataset_component_count"]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_dataset_name(
        source: *const mdist_dataset_t,
        paths: *const *const ::std::os::raw::c_char,
        count: usize,
        out: *mut *mut mdist_dataset_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Components of an element; 0 for a bad handle."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_dataset_component_count(dataset: *const mdist_dataset_t) -> usize;
}
extern "C" {
    #[doc = " What is known of a component before there is an element (TensorFlow: element_spec). Of a distributed dataset, what"]
    #[doc = " each replica gets."]
    #[doc = " @param out   receives dtype and shape, with MDIST_UNKNOWN for lengths that are not known; data NULL"]
    #[doc = " @param path  receives where it lies in an element taken as one value, borrowed from the handle; may be NULL"]
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
    #[doc = " Frees a dataset; those made from it, and iterators, live on. NULL is fine."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back free functions given to its sources   @since 0.1"]
    pub fn mdist_dataset_destroy(dataset: *mut mdist_dataset_t);
}
extern "C" {
    #[doc = " Starts an iteration."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_iterator_create(
        dataset: *const mdist_dataset_t,
        out: *mut *mut mdist_iterator_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " The next element: one value for each component, plain, or per-replica from a distributed dataset. MDIST_END after the"]
    #[doc = " last, again and again. Values are yours to destroy, and stay valid when the iterator moves on or is destroyed. After"]
    #[doc = " an error the iterator returns that error until it is restored (mdist_iterator_restore); else make a new one. In a"]
    #[doc = " step of mdist_run it is MDIST_ERR_WRONG_CONTEXT: pass elements as arguments."]
    #[doc = " @param count  must be mdist_dataset_component_count"]
    #[doc = " @thread one at a time per iterator   @blocks until the element is there"]
    #[doc = " @collective all workers for a distributed dataset; where they take elements together (input.h), in one order with"]
    #[doc = "             all else that they do together, and MDIST_ERR_FAILED_PRECONDITION, reason `busy`, while another thread"]
    #[doc = "             works with the strategy"]
    #[doc = " @calls-back map functions, as mdist_map_fn says   @since 0.1"]
    pub fn mdist_iterator_next(
        iterator: *mut mdist_iterator_t,
        out: *mut *mut mdist_value_t,
        count: usize,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " The same element as one value, as said at the top of this header: the one argument of a run, whose steps read"]
    #[doc = " mdist_replica_argument_at(replica, 0, \"label\", ...). (TensorFlow: get_next and get_next_as_optional, which tells the"]
    #[doc = " end by an optional without a value as this one by MDIST_END.)"]
    #[doc = " @thread one at a time per iterator   @blocks until the element is there"]
    #[doc = " @collective all workers for a distributed dataset; where they take elements together (input.h), in one order with"]
    #[doc = "             all else that they do together, and MDIST_ERR_FAILED_PRECONDITION, reason `busy`, while another thread"]
    #[doc = "             works with the strategy"]
    #[doc = " @calls-back map functions, as mdist_map_fn says   @since 0.1"]
    pub fn mdist_iterator_next_value(
        iterator: *mut mdist_iterator_t,
        out: *mut *mut mdist_value_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Components of an element, as mdist_dataset_component_count, also when the dataset is destroyed or the iteration"]
    #[doc = " closed; 0 for a bad handle."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_iterator_component_count(iterator: *const mdist_iterator_t) -> usize;
}
extern "C" {
    #[doc = " What is known of a component, as mdist_dataset_component says, likewise at any time."]
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
    #[doc = " Where the iteration stands, behind the last element that was given, as a line of printable text; text, capacity and"]
    #[doc = " needed as in mdist_config_get. It holds how many elements were taken, the orders of shuffles that reshuffle, and what"]
    #[doc = " the dataset is made of. An element of a distributed dataset is a step of all replicas, and every worker saves the"]
    #[doc = " same text. Where all workers share every batch (policy DATA; mdist_dataset_explain tells) any number of workers and"]
    #[doc = " replicas goes on from there, with MDIST_UNEVEN_DROP any with as many replicas in all; so does one worker under any"]
    #[doc = " policy, with any number of replicas, if its batches are whole. Elsewhere (FILE, OFF, HINT, whole elements, datasets"]
    #[doc = " from functions) it takes as many workers, which take as many rows in a step. MDIST_ERR_FAILED_PRECONDITION, reason"]
    #[doc = " `unordered`, where nobody can say which elements were given: after mdist_dataset_map_parallel without `ordered`, and"]
    #[doc = " after a cache that holds what another iterator has shuffled. After a failure it is that failure."]
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
    #[doc = " Moves an iterator, fresh or used, failed or at its end, to where another one of an equal dataset was saved, perhaps"]
    #[doc = " in another process: it gives the elements that were left there, in the same order. Later iterators of the dataset"]
    #[doc = " reshuffle as they would have there. If this fails the iterator is as before."]
    #[doc = ""]
    #[doc = " Elements that were given before are gone through once more, as far as they must: rows in memory and numbers are"]
    #[doc = " skipped, whatever they are mapped to; records of files are read and checked, those of all epochs of a"]
    #[doc = " mdist_dataset_repeat, so rather make an iterator for each epoch; filters and generators are called, and so is what is"]
    #[doc = " below a filter, cache or shuffle, perhaps while threads of the iterator still call them for elements that it had made"]
    #[doc = " ahead. Functions are trusted to make of one element the same each time."]
    #[doc = ""]
    #[doc = " MDIST_ERR_DATA_LOSS, reason `corrupt`, for what is no such text; MDIST_ERR_MISMATCH, reason `different_dataset`, for"]
    #[doc = " a dataset made otherwise, or with fewer elements than were taken; `different_layout`, where positions depend"]
    #[doc = " on workers and replicas (mdist_iterator_save says where) and these are others. What arrays, files and functions hold"]
    #[doc = " is not known and so not compared; nor are folders of files. It never takes longer than taking the elements did; do"]
    #[doc = " not restore what strangers wrote, who may say that 2^63 elements of a dataset without end were taken."]
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
    #[doc = " Ends the iteration and returns when no map function runs for it any more and none of its memory is in use: before"]
    #[doc = " what they refer to goes, say at the end of a scope. The iterator is still to be destroyed; more elements are"]
    #[doc = " MDIST_ERR_FAILED_PRECONDITION, reason `closed`."]
    #[doc = " @thread one at a time per iterator   @blocks until functions of yours under way on its threads return"]
    #[doc = " @collective no   @calls-back free functions given to its sources   @since 0.1"]
    pub fn mdist_iterator_close(
        iterator: *mut mdist_iterator_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Frees an iterator. NULL is fine. A function under way on a thread of the iterator runs to its end. Where some source"]
    #[doc = " or map was given no free function, this waits for it, for nobody else could say when your memory is out of use. Where"]
    #[doc = " all have one it never waits, as finalizers need it, and that thread calls the free functions."]
    #[doc = " @thread any   @blocks no, but for what is said above   @collective no"]
    #[doc = " @calls-back free functions given to its sources   @since 0.1"]
    pub fn mdist_iterator_destroy(iterator: *mut mdist_iterator_t);
}
extern "C" {
    #[doc = " Waits until no thread of an iterator that was destroyed can call a function of yours any more, or for"]
    #[doc = " @p timeout_ns. For runtimes that end before their process does: a thread that calls into one"]
    #[doc = " afterwards may take the process with it."]
    #[doc = " @param done  receives 1, or 0 if some are still at work"]
    #[doc = " @thread any   @blocks as said   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_iterators_settle(
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
pub const MDIST_REDUCE_OP_PIN_INT32: mdist_reduce_op = -2147483648;
pub type mdist_reduce_op = ::std::os::raw::c_int;
pub use self::mdist_reduce_op as mdist_reduce_op_t;
extern "C" {
    #[doc = " Reduces buffer i of all replicas into every replica's output i (TensorFlow: ReplicaContext.all_reduce)."]
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
    #[doc = " Reduces rows (see mdist_value_rows) of all replicas: a sum is all of them, one after another in replica order; MEAN"]
    #[doc = " divides them by the number of replicas. Rows of one index are not merged. Replicas may have different numbers of"]
    #[doc = " rows, and none. Other operations are MDIST_ERR_UNSUPPORTED. (TensorFlow: ReplicaContext.all_reduce of IndexedSlices.)"]
    #[doc = " @param indices  int64 [k]"]
    #[doc = " @param values   [k, ...]: alike on all replicas but for k"]
    #[doc = " @param out      receives a plain value of rows, yours, with the same content on every replica"]
    #[doc = " @thread replica   @blocks as mdist_all_reduce   @collective all replicas   @calls-back never   @since 0.1"]
    pub fn mdist_all_reduce_rows(
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
    #[doc = " Copies the buffers of replica @p root over those of all others."]
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
    #[doc = " Writes the inputs of all replicas one after another, in replica order, into every replica's output. Inputs may differ"]
    #[doc = " in length from replica to replica; output i is as long as all inputs i together (gather the lengths first, one uint64"]
    #[doc = " each, where they are not known). In place: the input is the part of the output where it belongs."]
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
    #[doc = " Reduces like mdist_all_reduce, but each replica receives its own part only: the parts lie in the input in replica"]
    #[doc = " order, as long as each replica's output, which may differ. In place: the output is the part where it belongs."]
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
    #[doc = " Not in place."]
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
    #[doc = " mdist_all_reduce with a result for replica @p root alone: its outputs are as long as its inputs, and may be the same."]
    #[doc = " @param outputs  of other replicas are not looked at; may be NULL there"]
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
    #[doc = " mdist_all_gather with a result for replica @p root alone."]
    #[doc = " @param outputs  of other replicas are not looked at; may be NULL there"]
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
    #[doc = " Gives each replica its part of the inputs of replica @p root. The parts lie there in replica order, as long as each"]
    #[doc = " replica's output, which may differ. In place at the root: its output is its part."]
    #[doc = " @param inputs  of other replicas are not looked at; may be NULL there"]
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
extern "C" {
    #[doc = " mdist_all_reduce for programs that go run, reduce, run: all local replicas' buffers in one call."]
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
    #[doc = " Reduces a value over replicas, and first over @p axes of each tensor if there are any, to a plain value in memory of"]
    #[doc = " the host (TensorFlow: Strategy.reduce)."]
    #[doc = ""]
    #[doc = " Without axes: element by element; equal shapes. MEAN divides by the number of replicas. With axes (negative ones"]
    #[doc = " count from the end): replicas may differ in length along them; MEAN divides by the true number of elements that went"]
    #[doc = " in, as in the rows of a last batch that is not full; integers are summed"]
    #[doc = " in 64 bits and give float64 then. Of no elements, MEAN is NaN, SUM 0,"]
    #[doc = " PROD 1, and MIN and MAX are the type's largest and smallest (infinities for floating-point types)."]
    #[doc = " Rows (mdist_value_rows) are reduced as by mdist_all_reduce_rows, and not over axes."]
    #[doc = " A plain value (once reduced over axes, if there are any) is given back by MEAN, MIN and MAX; by SUM too if all its"]
    #[doc = " elements are 0; and by every operation if there is one replica. Else SUM and PROD are MDIST_ERR_INVALID_ARGUMENT, for"]
    #[doc = " nobody could say what was meant. A mirrored value likewise without axes; with axes each replica's equal copy counts."]
    #[doc = " A structure is reduced leaf by leaf, without axes in one operation, and gives one with the same paths; all workers"]
    #[doc = " must have the same, too."]
    #[doc = " @thread one at a time per strategy   @blocks until the result is there   @collective all workers"]
    #[doc = " @calls-back never   @since 0.1"]
    pub fn mdist_reduce(
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
    #[doc = " Reduces a per-replica value to where @p destination says: NULL or \"\" for the devices it came from (a mirrored value,"]
    #[doc = " so an all-reduce), else the name of one device of this strategy (a plain value there). Plain and mirrored values as"]
    #[doc = " in mdist_reduce, and structures (TensorFlow: StrategyExtended.reduce_to)."]
    #[doc = " @thread one at a time per strategy   @blocks until the result is there   @collective all workers"]
    #[doc = " @calls-back never   @since 0.1"]
    pub fn mdist_reduce_to(
        strategy: *mut mdist_strategy_t,
        op: mdist_reduce_op_t,
        value: *const mdist_value_t,
        destination: *const ::std::os::raw::c_char,
        out: *mut *mut mdist_value_t,
        options: *const mdist_call_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Many mdist_reduce_to in one: value i to destination i gives out i. All or none. What goes to the devices it came from"]
    #[doc = " is one operation, however many values and leaves it is, and what goes to single devices another one; or they are"]
    #[doc = " packs, if @p options or the config say so. Small results share memory, up to 4 MiB, which goes with the last of them."]
    #[doc = " @param destinations  NULL: all to the devices they came from"]
    #[doc = " @thread one at a time per strategy   @blocks until the results are there   @collective all workers"]
    #[doc = " @calls-back never   @since 0.1"]
    pub fn mdist_batch_reduce_to(
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
    #[doc = " A mirrored value with a copy of @p tensor on every local device (TensorFlow: broadcast_to). For structures there is"]
    #[doc = " mdist_value_mirrored."]
    #[doc = " @thread one at a time per strategy   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_broadcast_to(
        strategy: *mut mdist_strategy_t,
        tensor: *const mdist_tensor_t,
        out: *mut *mut mdist_value_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
#[doc = " Computes what is fetched where it lies, from what lies there: makes @p result, a plain value that it hands over, also"]
#[doc = " if it fails. Returns 0, or any other number to fail the call, which mdist_error_native then gives. May call any"]
#[doc = " function of cross-replica context."]
pub type mdist_fetch_fn = ::std::option::Option<
    unsafe extern "C" fn(
        source: *const mdist_tensor_t,
        result: *mut *mut mdist_value_t,
        user_data: *mut ::std::os::raw::c_void,
    ) -> i32,
>;
extern "C" {
    #[doc = " A plain value on the device named @p destination (NULL or \"\": in host memory) with the content of a plain or mirrored"]
    #[doc = " value, or what @p fetch makes of it on the device where it lies, so that only that need travel (TensorFlow 1: fetch)."]
    #[doc = " Of a mirrored value the copy at the destination is taken if there is one. A per-replica value is"]
    #[doc = " MDIST_ERR_INVALID_ARGUMENT, for nobody could say which content was meant; variables go through mdist_variable_read."]
    #[doc = " @param fetch  NULL for the content itself"]
    #[doc = " @thread one at a time per strategy   @blocks no   @collective no   @calls-back fetch, on this thread   @since 0.1"]
    pub fn mdist_fetch(
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
    #[doc = " Joins the replicas' tensors along @p axis in replica order, to a plain value in memory of the host (TensorFlow:"]
    #[doc = " Strategy.gather). Lengths along the axis may differ; rank, dtype and the other dimensions must not. A plain or"]
    #[doc = " mirrored value counts once per replica. A structure is gathered leaf by leaf. Rows are MDIST_ERR_UNSUPPORTED: their"]
    #[doc = " sum joins them."]
    #[doc = " @thread one at a time per strategy   @blocks until the result is there   @collective all workers"]
    #[doc = " @calls-back never   @since 0.1"]
    pub fn mdist_gather(
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
pub type mdist_assign = ::std::os::raw::c_int;
pub use self::mdist_assign as mdist_assign_t;
#[doc = " Options of a variable. NULL, or all zero but struct_size: mirrored, aggregation NONE."]
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
#[doc = " Options of a variable. NULL, or all zero but struct_size: mirrored, aggregation NONE."]
pub type mdist_variable_options_t = mdist_variable_options;
extern "C" {
    #[doc = " Creates a variable with a copy of @p initial on every replica (zeros where its data is NULL)."]
    #[doc = " Variables of one dtype lie side by side in one arena per replica: see mdist_variable_arena. In a step, use"]
    #[doc = " mdist_replica_variable_create."]
    #[doc = " @param name  for messages and checkpoints; not empty; two variables of one strategy may not share it"]
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
    #[doc = " Creates a variable from inside a step. Every replica makes the same call (name, shape, dtype, options); replica 0's"]
    #[doc = " @p initial is everybody's initial value, random ones too. Each receives a handle of its own to the same variable,"]
    #[doc = " which goes with the last of them."]
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
    #[doc = " Writes from outside of steps. A plain or mirrored value goes to every copy; the tensors of a per-replica value go"]
    #[doc = " each to its own copy, which then differ. Sync-on-read with SET and aggregation SUM: each of N copies receives 1/N of"]
    #[doc = " its tensor (integers: cut off towards zero), so that reading gives it back; ADD and SUB are"]
    #[doc = " MDIST_ERR_FAILED_PRECONDITION with SUM. (Creation does not divide: every copy starts with the initial value.)"]
    #[doc = " Inside mdist_update's function, writes the copy at hand only, by its own tensor of the value."]
    #[doc = " A value of rows (mdist_value_rows) writes those rows of the copies and leaves the others alone, as"]
    #[doc = " mdist_replica_assign_rows does."]
    #[doc = " @thread one at a time per strategy   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_variable_assign(
        variable: *mut mdist_variable_t,
        assign: mdist_assign_t,
        value: *const mdist_value_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Writes from inside a step. Mirrored with SUM or MEAN: the replicas' tensors are reduced, and the result is applied"]
    #[doc = " once to every copy; ONLY_FIRST_REPLICA: replica 0's tensor is. Those three need every replica to call. Mirrored with"]
    #[doc = " NONE, and sync-on-read: only this replica's copy, nobody else takes part."]
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
    #[doc = " Writes rows from inside a step: row i of @p values into row indices[i] of the copy, one after another in their order,"]
    #[doc = " the same one twice, too (TensorFlow: scatter_update, _add, _sub, _mul, _div, _min, _max). Mirrored variables only:"]
    #[doc = " with NONE this replica's copy and rows; ONLY_FIRST_REPLICA replica 0's rows into every copy; SUM the rows of all"]
    #[doc = " replicas, in replica order, into every copy; MEAN the same, each row divided by the number of replicas. Those three"]
    #[doc = " need every replica to call, with any number of rows. With SUM and MEAN, SET, MIN and MAX are MDIST_ERR_UNSUPPORTED,"]
    #[doc = " reason `rows_aggregation`; sync-on-read is, too, reason `rows_on_read`. An index that the variable has not is"]
    #[doc = " MDIST_ERR_INVALID_ARGUMENT, and nothing is written."]
    #[doc = " @param indices  int64 [k]"]
    #[doc = " @param values   [k, ...]: like the variable but for the first dimension"]
    #[doc = " @thread replica   @blocks as mdist_all_reduce where replicas take part   @collective all replicas, or no"]
    #[doc = " @calls-back never   @since 0.1"]
    pub fn mdist_replica_assign_rows(
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
    #[doc = " Reads from outside of steps, as a plain value (a copy, in memory of the host). Mirrored: copy 0. Sync-on-read: SUM"]
    #[doc = " and MEAN over all replicas' copies, ONLY_FIRST_REPLICA copy 0; NONE is MDIST_ERR_FAILED_PRECONDITION. In a step, read"]
    #[doc = " the memory of mdist_variable_tensor."]
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
    #[doc = " From here to mdist_cached_reads_exit, mdist_variable_read gives of each variable of the strategy what its first read"]
    #[doc = " gave, whatever has been written since, without asking other workers again: for who looks at the same numbers in many"]
    #[doc = " places. Does not nest: MDIST_ERR_FAILED_PRECONDITION, reason `cached_reads`. All workers enter and leave alike, since"]
    #[doc = " a read that one of them has cached is none that others could wait for; a client that leads others (serve.h) caches"]
    #[doc = " what it reads itself. In a step, where a read is a look at memory, keep a copy of it. Checkpoints are saved from the"]
    #[doc = " variables themselves. (TensorFlow: cache_variable_reads.)"]
    #[doc = " @thread one at a time per strategy   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_cached_reads_enter(
        strategy: *mut mdist_strategy_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Ends what mdist_cached_reads_enter began. Without that: MDIST_ERR_FAILED_PRECONDITION, reason `cached_reads`."]
    #[doc = " @thread one at a time per strategy   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_cached_reads_exit(
        strategy: *mut mdist_strategy_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Describes the copy of a local replica, which lies on its device. Its address never changes; borrowed until the"]
    #[doc = " variable is destroyed. Read and write it as you like, from one thread at a time (on a GPU by kernels and copies, see"]
    #[doc = " <mdist/gpu.h>); keeping mirrored copies equal is then up to you."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_variable_tensor(
        variable: *const mdist_variable_t,
        local_replica: u32,
        out: *mut mdist_tensor_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " The name it was created with, borrowed; \"\" for a bad handle."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_variable_name(variable: *const mdist_variable_t) -> *const ::std::os::raw::c_char;
}
extern "C" {
    #[doc = " All variables of @p dtype of a local replica as one buffer: reduce or update many in one call. They lie in order of"]
    #[doc = " creation, but a new one may take the place of a destroyed one; each starts at a multiple of 64 bytes, where"]
    #[doc = " mdist_variable_tensor says, at the same offset on every replica. The gaps hold zeros unless you write there. All"]
    #[doc = " kinds are in it: reducing it makes sync-on-read copies equal, too. Borrowed until the strategy and its variables are"]
    #[doc = " gone; more variables make it longer, and it never moves. Without a variable of that dtype: data NULL, no elements."]
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
    #[doc = " Says which variable holds the memory at @p address, and which local replica's copy it is; MDIST_ERR_NOT_FOUND if none"]
    #[doc = " of this strategy does (TensorFlow: value_container, variable_created_in_scope). For functions that see tensors only."]
    #[doc = " @param out            receives a handle of your own to the variable, which goes with the last of its handles"]
    #[doc = " @param local_replica  may be NULL"]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_variable_of(
        strategy: *const mdist_strategy_t,
        address: *const ::std::os::raw::c_void,
        out: *mut *mut mdist_variable_t,
        local_replica: *mut u32,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Finds a variable by its name, whoever created it, in a step too; MDIST_ERR_NOT_FOUND lists what there is."]
    #[doc = " @param out  receives a handle of your own to the variable, which goes with the last of its handles"]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_variable_find(
        strategy: *const mdist_strategy_t,
        name: *const ::std::os::raw::c_char,
        out: *mut *mut mdist_variable_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
#[doc = " Changes one copy in update context: the copy's memory, and for each argument the tensor that belongs to it; an"]
#[doc = " argument that is a structure brings those of its leaves, one after another in the order of their paths, so that"]
#[doc = " @p argument_count counts tensors. Each result that it sets in @p results is a plain value or a structure of such,"]
#[doc = " which it made and hands over, also if it fails. Returns 0, or any other number to fail the update, which"]
#[doc = " mdist_error_native then gives. Runs on the thread that called mdist_update; may call any function of cross-replica"]
#[doc = " context, where mdist_variable_assign writes the copy at hand only. A copy on a GPU is for kernels, whose work must be"]
#[doc = " done when it returns."]
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
    #[doc = " Calls @p update for each local copy, one after another (TensorFlow: StrategyExtended.update). Stops at the first"]
    #[doc = " failure; copies already changed stay so. In a step, call mdist_merge_call first."]
    #[doc = " @param arguments  each copy sees its own tensor of a per-replica or mirrored value, and all see the one of a plain"]
    #[doc = "                   value. May be NULL if the count is 0."]
    #[doc = " @param results    receives @p result_count values, as from mdist_run: what the copies made, regrouped leaf by leaf"]
    #[doc = " @thread one at a time per strategy   @blocks until the last copy is done   @collective no"]
    #[doc = " @calls-back update, on this thread   @since 0.1"]
    pub fn mdist_update(
        variable: *mut mdist_variable_t,
        update: mdist_update_fn,
        user_data: *mut ::std::os::raw::c_void,
        arguments: *const *mut mdist_value_t,
        argument_count: usize,
        results: *mut *mut mdist_value_t,
        result_count: usize,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " The same for state that belongs to no single variable, such as an optimizer's step counter: calls @p update once per"]
    #[doc = " device of the strategy, with NULL for the copy. (TensorFlow: StrategyExtended.update_non_slot, non_slot_devices.)"]
    #[doc = " @thread one at a time per strategy   @blocks until the last device is done   @collective no"]
    #[doc = " @calls-back update, on this thread   @since 0.1"]
    pub fn mdist_update_non_slot(
        strategy: *mut mdist_strategy_t,
        update: mdist_update_fn,
        user_data: *mut ::std::os::raw::c_void,
        arguments: *const *mut mdist_value_t,
        argument_count: usize,
        results: *mut *mut mdist_value_t,
        result_count: usize,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Frees a variable and its place in the arenas, which is zeroed and may go to the next variable: addresses from"]
    #[doc = " mdist_variable_tensor are wrong from then on. So not while a step uses it. NULL is fine."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_variable_destroy(variable: *mut mdist_variable_t);
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mdist_checkpoint {
    _unused: [u8; 0],
}
pub type mdist_checkpoint_t = mdist_checkpoint;
#[doc = " Options of mdist_checkpoint_restore. NULL, or all zero but struct_size: everything is restored."]
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
#[doc = " Options of mdist_checkpoint_restore. NULL, or all zero but struct_size: everything is restored."]
pub type mdist_restore_options_t = mdist_restore_options;
extern "C" {
    #[doc = " A checkpoint object that holds nothing yet. Does not look at the folder."]
    #[doc = " @param folder  of rank 0; made by the first save. For one job at a time"]
    #[doc = " @param keep    how many checkpoints stay there: a save removes those saved before the last @p keep. 0: all stay"]
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
    #[doc = " Adds a variable (kept) of the same strategy. All workers add the same, in any order."]
    #[doc = " @param name  in files, UTF-8; NULL: the variable's own. Two variables may not share it"]
    #[doc = " @thread one at a time per strategy   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_checkpoint_add(
        checkpoint: *mut mdist_checkpoint_t,
        name: *const ::std::os::raw::c_char,
        variable: *mut mdist_variable_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Adds an iterator (kept), whose position is saved along and restored with the variables, as mdist_iterator_save and"]
    #[doc = " mdist_iterator_restore do it: all of them or none. All workers add the same, in any order, each its own iterator, and"]
    #[doc = " have taken equally many elements when they save (MDIST_ERR_MISMATCH). No other call may use it meanwhile. A"]
    #[doc = " file without it, or with others, is MDIST_ERR_MISMATCH, reason `different_variables`, when restoring; with"]
    #[doc = " MDIST_RESTORE_PARTIAL the first stay where they are, and the second are passed over."]
    #[doc = " @param name  in files, UTF-8, not empty; two iterators may not share it"]
    #[doc = " @thread one at a time per strategy   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_checkpoint_add_iterator(
        checkpoint: *mut mdist_checkpoint_t,
        name: *const ::std::os::raw::c_char,
        iterator: *mut mdist_iterator_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Sets a text that is saved along, over the one that @p key has. The chief's are saved; restoring gives them to all."]
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
    #[doc = " Reads a text, set or restored; text, capacity and needed as in mdist_config_get. MDIST_ERR_NOT_FOUND if @p key has"]
    #[doc = " none."]
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
    #[doc = " Saves checkpoint @p number, which then is the latest; one that has that number already is replaced. Mirrored"]
    #[doc = " variables are saved as the chief's copy 0, sync-on-read ones as reduced over all replicas; those with aggregation"]
    #[doc = " NONE are MDIST_ERR_FAILED_PRECONDITION."]
    #[doc = " A failure is the same on all workers, and the strategy goes on working: MDIST_ERR_IO with errno as mdist_error_native"]
    #[doc = " where the disk is full or refuses; MDIST_ERR_FAILED_PRECONDITION, reason `busy`, while another process saves there;"]
    #[doc = " MDIST_ERR_MISMATCH where workers have other numbers, variables or iterators, or"]
    #[doc = " these elsewhere; MDIST_ERR_FAILED_PRECONDITION, reasons `unordered` and `closed`, of an iterator. The checkpoints"]
    #[doc = " that were there still are."]
    #[doc = " @param number   less than MDIST_LATEST; of a step or epoch, say"]
    #[doc = " @param options  timeout_ns must be enough for the chief to write: the others wait for it"]
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
    #[doc = " Gives variables, iterators and texts what checkpoint @p number has, on all workers. Mirrored variables, and"]
    #[doc = " sync-on-read ones but with aggregation SUM: the value goes to every copy; SUM: each of N copies receives 1/N of it"]
    #[doc = " (integers: cut off towards zero). Texts that the file lacks are gone. A failure is the same on all workers, and comes"]
    #[doc = " before anything has changed: MDIST_ERR_NOT_FOUND, reason `no_checkpoint`; MDIST_ERR_DATA_LOSS for a damaged file,"]
    #[doc = " saying what is wrong; MDIST_ERR_MISMATCH, reason `different_variables`, naming variables that are not in the file,"]
    #[doc = " tensors that are no variables, and those of another dtype or shape. With MDIST_RESTORE_PARTIAL the first stay as they"]
    #[doc = " are, and the second are passed over. (If the file can be read once and not again, or workers are lost meanwhile, some"]
    #[doc = " variables may have changed.)"]
    #[doc = " @param number    MDIST_LATEST: what the list says; else it need not be on the list: any safetensors file of that name"]
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
    #[doc = " Removes all checkpoints from the folder: the training they were for is done, and the next one shall begin anew. None"]
    #[doc = " and no folder are fine. MDIST_ERR_IO where some cannot be removed, MDIST_ERR_FAILED_PRECONDITION, reason `busy`,"]
    #[doc = " while another process saves there. The variables stay as they are."]
    #[doc = " @thread one at a time per strategy   @blocks on the folder   @collective all workers   @calls-back never   @since 0.1"]
    pub fn mdist_checkpoint_clear(
        checkpoint: *mut mdist_checkpoint_t,
        options: *const mdist_call_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " The number of the checkpoint in @p folder that was saved last, for programs that only watch. MDIST_ERR_NOT_FOUND,"]
    #[doc = " reason `no_checkpoint`, if there is none."]
    #[doc = " @thread any   @blocks on the folder   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_checkpoint_latest(
        folder: *const ::std::os::raw::c_char,
        number: *mut u64,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Frees a checkpoint object and lets go of its variables and iterators; files stay. NULL is fine."]
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
extern "C" {
    #[doc = " A cluster without tasks. (TensorFlow: SimpleClusterResolver, with the next two.)"]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_cluster_create(
        out: *mut *mut mdist_cluster_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Adds a task at @p address (\"host:port\"; an IPv6 host in brackets), or at one nobody knows (\"\")."]
    #[doc = " @thread one at a time per cluster   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_cluster_add_task(
        cluster: *mut mdist_cluster_t,
        type_: mdist_task_type_t,
        index: u32,
        address: *const ::std::os::raw::c_char,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Says which task this process is. MDIST_ERR_CONFIG if the cluster cannot have it, so add tasks first; an evaluator"]
    #[doc = " need not be in it."]
    #[doc = " @thread one at a time per cluster   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_cluster_set_task(
        cluster: *mut mdist_cluster_t,
        type_: mdist_task_type_t,
        index: u32,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " The cluster that a strategy created from @p config would be in, or from the environment if it is NULL. Without one, a"]
    #[doc = " cluster without tasks. Fails as mdist_strategy_create would: where sources contradict each other, or cannot be used."]
    #[doc = " @thread any   @blocks on the config file if NULL   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_cluster_from_config(
        config: *const mdist_config_t,
        out: *mut *mut mdist_cluster_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Reads a text like that of the variable TF_CONFIG, of at most 1 MiB. (TensorFlow: TFConfigClusterResolver.)"]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_cluster_from_tf_config(
        json: *const ::std::os::raw::c_char,
        length: usize,
        out: *mut *mut mdist_cluster_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " From the variables of a Slurm step: @p counts tasks of each of @p types, dealt out in the order of the types' names"]
    #[doc = " (chief, evaluator, ps, worker) over the step's tasks; with @p job_count 0 all are workers. The k-th task on a host,"]
    #[doc = " from 0, gets port @p port_base + k; a base of 0 is 8888. (TensorFlow: SlurmClusterResolver, but host names keep their"]
    #[doc = " leading zeros, and CUDA_VISIBLE_DEVICES is left alone.)"]
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
    #[doc = " Puts clusters together: lists of the same type one after another; where a list has gaps, its indices stay, and two"]
    #[doc = " that meet are MDIST_ERR_CONFIG. Own task and master are the first's. (TensorFlow: UnionResolver.)"]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_cluster_union(
        clusters: *const *const mdist_cluster_t,
        count: usize,
        out: *mut *mut mdist_cluster_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " How many tasks of @p type there are; of all types with MDIST_TASK_NONE."]
    #[doc = " @thread one at a time per cluster   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_cluster_task_count(
        cluster: *const mdist_cluster_t,
        type_: mdist_task_type_t,
        out: *mut u32,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Reads the address of a task into @p text of @p capacity bytes, NUL included, cut off where it does not fit; @p needed"]
    #[doc = " (may be NULL) receives the full size, NUL included. \"\" where the launcher gives no addresses. MDIST_ERR_NOT_FOUND if"]
    #[doc = " there is no such task."]
    #[doc = " @thread one at a time per cluster   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_cluster_address(
        cluster: *const mdist_cluster_t,
        type_: mdist_task_type_t,
        index: u32,
        text: *mut ::std::os::raw::c_char,
        capacity: usize,
        needed: *mut usize,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Which task this process is: MDIST_TASK_NONE and 0 where nobody said so."]
    #[doc = " @thread one at a time per cluster   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_cluster_task(
        cluster: *const mdist_cluster_t,
        type_: *mut mdist_task_type_t,
        index: *mut u32,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Whether a task is the chief: a chief, an evaluator, or worker 0 of a cluster without chief. For MDIST_TASK_NONE, here"]
    #[doc = " and below, this process's own, and @p index is not looked at. (TensorFlow: multi_worker_util.is_chief)"]
    #[doc = " @thread one at a time per cluster   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_cluster_is_chief(
        cluster: *const mdist_cluster_t,
        type_: mdist_task_type_t,
        index: u32,
        out: *mut i32,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " How many train together with a task of this type. MDIST_ERR_CONFIG for a parameter server, which does not train."]
    #[doc = " (TensorFlow: multi_worker_util.worker_count)"]
    #[doc = " @thread one at a time per cluster   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_cluster_worker_count(
        cluster: *const mdist_cluster_t,
        type_: mdist_task_type_t,
        out: *mut u32,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " The rank of a task among those. (TensorFlow: multi_worker_util.id_in_cluster)"]
    #[doc = " @thread one at a time per cluster   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_cluster_worker_id(
        cluster: *const mdist_cluster_t,
        type_: mdist_task_type_t,
        index: u32,
        out: *mut u32,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " The task that has rank 0 where this process trains: the chief, or else worker 0. MDIST_TASK_NONE and 0 for an"]
    #[doc = " evaluator, and without tasks. (TensorFlow: multi_worker_util.collective_leader)"]
    #[doc = " @thread one at a time per cluster   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_cluster_leader(
        cluster: *const mdist_cluster_t,
        type_: *mut mdist_task_type_t,
        index: *mut u32,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Reads, as mdist_cluster_address does, what TensorFlow calls the master of a task: `session_master` of TF_CONFIG; \"\""]
    #[doc = " in a cluster of one task; else the task's address, behind \"`rpc_layer`://\" where TF_CONFIG has one."]
    #[doc = " (TensorFlow: ClusterResolver.master)"]
    #[doc = " @thread one at a time per cluster   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_cluster_master(
        cluster: *const mdist_cluster_t,
        type_: mdist_task_type_t,
        index: u32,
        text: *mut ::std::os::raw::c_char,
        capacity: usize,
        needed: *mut usize,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Reads, as mdist_cluster_address does, lines for people: what was found, from where, and what was passed over and why."]
    #[doc = " @thread one at a time per cluster   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_cluster_explain(
        cluster: *const mdist_cluster_t,
        text: *mut ::std::os::raw::c_char,
        capacity: usize,
        needed: *mut usize,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Replaces the keys cluster.* and task.* of a config. MDIST_ERR_CONFIG where keys cannot say it: lists with gaps or"]
    #[doc = " without addresses."]
    #[doc = " @thread one at a time per config and per cluster   @blocks no   @collective no   @calls-back never   @since 0.1"]
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
    #[doc = " Makes @p strategy the current one of this thread until mdist_scope_exit. Scopes nest, of the same strategy only:"]
    #[doc = " within another's it is MDIST_ERR_FAILED_PRECONDITION, reason `other_strategy`. In a step it is"]
    #[doc = " MDIST_ERR_WRONG_CONTEXT. One that a merge or update function leaves open ends with it, and all end with their thread."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_scope_enter(
        strategy: *mut mdist_strategy_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Leaves the scope that this thread entered last, which must be that of @p strategy, destroyed or not; else it is"]
    #[doc = " MDIST_ERR_FAILED_PRECONDITION, reason `no_scope`, and nothing changes."]
    #[doc = " @thread the one that entered   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_scope_exit(
        strategy: *mut mdist_strategy_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " The strategy this thread works for, as the table above says. Borrowed: not yours to destroy. Fails only where the"]
    #[doc = " default strategy, one CPU whatever the environment says, cannot be made."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_current_strategy(
        out: *mut *mut mdist_strategy_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " The replica this thread works for, as the table above says; NULL in cross-replica context. Borrowed, for this thread"]
    #[doc = " and as long as it is there. The default strategy's is in a step that never ends: collectives and merges are those of"]
    #[doc = " one replica, and there are no arguments or results. After a failure in it, ask again."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_current_replica(
        out: *mut *mut mdist_replica_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Sets what is current on every thread that is in no step, function or scope; NULL: the built-in default again. Called"]
    #[doc = " in one of those it is MDIST_ERR_WRONG_CONTEXT. Once @p strategy is destroyed, the built-in one is the default."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_set_default_strategy(
        strategy: *mut mdist_strategy_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Scalars of int64: @p start, @p start + @p step ... as long as they lie before @p stop (past it, for a negative step)."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_dataset_range(
        start: i64,
        stop: i64,
        step: i64,
        out: *mut *mut mdist_dataset_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
#[doc = " Makes element @p index of an iteration, into memory that is already there, content undefined. Returns MDIST_OK, or"]
#[doc = " MDIST_END where there is no such element, or any other number to end the iteration with MDIST_ERR_CALLBACK, which"]
#[doc = " mdist_error_native then gives."]
#[doc = " @p state is NULL for index 0, which begins an iteration or an epoch of mdist_dataset_repeat, and keeps what you leave"]
#[doc = " there for the calls that follow. One call at a time per iterator; it must not call the iterator it serves."]
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
    #[doc = " Elements that a function makes, one after the other. It runs on the thread that calls mdist_iterator_next; what would"]
    #[doc = " run it elsewhere (mdist_dataset_prefetch, mdist_dataset_map_parallel, fetch_to_device of input.h) is"]
    #[doc = " MDIST_ERR_FAILED_PRECONDITION, reason `callers_thread`, unless @p flags has MDIST_GENERATOR_ANY_THREAD."]
    #[doc = " @param outputs  dtype and shape of each component; data is not read"]
    #[doc = " @param user_data  kept, with the functions, until the dataset, those made from it and their iterators are gone"]
    #[doc = " @param free_state  gets a @p state that is not NULL, when its iteration or epoch is over; may be NULL"]
    #[doc = " @thread any   @blocks no   @collective no"]
    #[doc = " @calls-back never in this call: generate later, as said, free_state and free_user_data, on any thread   @since 0.1"]
    pub fn mdist_dataset_from_generator(
        generate: mdist_generate_fn,
        user_data: *mut ::std::os::raw::c_void,
        free_user_data: mdist_free_fn,
        free_state: mdist_free_fn,
        outputs: *const mdist_tensor_t,
        output_count: usize,
        flags: u32,
        out: *mut *mut mdist_dataset_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " The names @p paths, in this order. Whether there are such files shows when they are read."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_dataset_files(
        paths: *const *const ::std::os::raw::c_char,
        count: usize,
        out: *mut *mut mdist_dataset_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " The names of all files that match one of @p patterns (`*`, `?` and `[a-z]`, as a shell knows them), sorted by their"]
    #[doc = " bytes; one that two patterns match comes twice. They are looked up now. To shuffle them, mdist_dataset_shuffle with a"]
    #[doc = " buffer of MDIST_FOREVER. No match at all is MDIST_ERR_NOT_FOUND."]
    #[doc = " @thread any   @blocks for the file system   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_dataset_match_files(
        patterns: *const *const ::std::os::raw::c_char,
        count: usize,
        out: *mut *mut mdist_dataset_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
pub const MDIST_COMPRESSION_NONE: mdist_compression = 0;
pub const MDIST_COMPRESSION_GZIP: mdist_compression = 1;
pub const MDIST_COMPRESSION_ZLIB: mdist_compression = 2;
pub const MDIST_COMPRESSION_PIN_INT32: mdist_compression = -2147483648;
#[doc = " How the bytes of a file are packed."]
pub type mdist_compression = ::std::os::raw::c_int;
#[doc = " How the bytes of a file are packed."]
pub use self::mdist_compression as mdist_compression_t;
pub const MDIST_ON_CORRUPT_FAIL: mdist_on_corrupt = 0;
pub const MDIST_ON_CORRUPT_SKIP: mdist_on_corrupt = 1;
pub const MDIST_ON_CORRUPT_PIN_INT32: mdist_on_corrupt = -2147483648;
#[doc = " What becomes of a record that is not what it should be."]
pub type mdist_on_corrupt = ::std::os::raw::c_int;
#[doc = " What becomes of a record that is not what it should be."]
pub use self::mdist_on_corrupt as mdist_on_corrupt_t;
#[doc = " How files are read. NULL, or all zero but struct_size: one after the other, uncompressed."]
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
#[doc = " How files are read. NULL, or all zero but struct_size: one after the other, uncompressed."]
pub type mdist_read_options_t = mdist_read_options;
extern "C" {
    #[doc = " The lines of text files, without the line feed and a carriage return before it. The last needs no line feed."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_dataset_text_lines(
        files: *const mdist_dataset_t,
        options: *const mdist_read_options_t,
        out: *mut *mut mdist_dataset_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Records of @p record_bytes each, between a header and a footer of each file. What lies between them must be a whole"]
    #[doc = " number of records, else it is corrupt."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_dataset_fixed_records(
        files: *const mdist_dataset_t,
        record_bytes: u64,
        header_bytes: u64,
        footer_bytes: u64,
        options: *const mdist_read_options_t,
        out: *mut *mut mdist_dataset_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Records of TFRecord files. The checksums of length and data are compared. Where records differ in length,"]
    #[doc = " mdist_dataset_map or mdist_dataset_padded_batch comes before a batch."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_dataset_tfrecords(
        files: *const mdist_dataset_t,
        options: *const mdist_read_options_t,
        out: *mut *mut mdist_dataset_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " How many corrupt records this iterator's sources have left out so far, also ahead of the elements taken, as under"]
    #[doc = " mdist_dataset_prefetch. A file whose rest could not be read counts as one."]
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
extern "C" {
    #[doc = " Begins a TFRecord file. Until mdist_record_writer_close it has another name, in the same folder: so at @p path there"]
    #[doc = " is what was there before, or the whole new file, also after a crash. (TensorFlow: TFRecordWriter.)"]
    #[doc = " @param compression  mdist_compression_t, which readers must be told: mdist_read_options_t"]
    #[doc = " @thread any   @blocks for the file system   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_record_writer_create(
        path: *const ::std::os::raw::c_char,
        compression: i32,
        out: *mut *mut mdist_record_writer_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Adds a record. A writer that failed, as where the disk is full (MDIST_ERR_IO; mdist_error_native gives errno),"]
    #[doc = " returns that error for ever."]
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
    #[doc = " Ends the file, flushes it to the disk and gives it its name. Afterwards writing is MDIST_ERR_FAILED_PRECONDITION,"]
    #[doc = " reason `closed`, and closing again does nothing."]
    #[doc = " @thread any   @blocks until the disk has it   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_record_writer_close(
        writer: *mut mdist_record_writer_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Frees a writer; a file that was not closed is removed. NULL is fine."]
    #[doc = " @thread any   @blocks for the file system   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_record_writer_destroy(writer: *mut mdist_record_writer_t);
}
#[doc = " Whether an element stays: sets @p keep, which is 0 at first, to non-zero. Returns and runs as mdist_map_fn does."]
pub type mdist_filter_fn = ::std::option::Option<
    unsafe extern "C" fn(
        inputs: *const mdist_tensor_t,
        input_count: usize,
        keep: *mut i32,
        user_data: *mut ::std::os::raw::c_void,
    ) -> i32,
>;
extern "C" {
    #[doc = " The elements that @p filter keeps."]
    #[doc = " @param user_data  kept, with @p filter, until the dataset, those made from it and their iterators are gone"]
    #[doc = " @thread any   @blocks no   @collective no"]
    #[doc = " @calls-back never in this call: filter later, as its type says, and free_user_data, on any thread   @since 0.1"]
    pub fn mdist_dataset_filter(
        source: *const mdist_dataset_t,
        filter: mdist_filter_fn,
        user_data: *mut ::std::os::raw::c_void,
        free_user_data: mdist_free_fn,
        out: *mut *mut mdist_dataset_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " The first @p count elements, or all if there are fewer."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_dataset_take(
        source: *const mdist_dataset_t,
        count: u64,
        out: *mut *mut mdist_dataset_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " All but the first @p count elements."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_dataset_skip(
        source: *const mdist_dataset_t,
        count: u64,
        out: *mut *mut mdist_dataset_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " The elements of @p first, then those of @p second. Their components must agree in number, dtype and rank, else"]
    #[doc = " MDIST_ERR_MISMATCH."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_dataset_concatenate(
        first: *const mdist_dataset_t,
        second: *const mdist_dataset_t,
        out: *mut *mut mdist_dataset_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Element i has the components of element i of each of @p sources, in this order. Ends with the shortest."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_dataset_zip(
        sources: *const *const mdist_dataset_t,
        source_count: usize,
        out: *mut *mut mdist_dataset_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Keeps the elements of the first iteration, or epoch, that comes to its end; later ones get them from memory, in the"]
    #[doc = " same order, for as long as the dataset and what is made from it live. What an iteration kept that did not come to its"]
    #[doc = " end is forgotten."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_dataset_cache(
        source: *const mdist_dataset_t,
        out: *mut *mut mdist_dataset_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " As mdist_dataset_batch, but elements may differ in their dimensions: each is filled up at the end of every dimension."]
    #[doc = " @param paddings  NULL: each dimension up to the longest of the batch, by zeros. Else for every component a tensor of"]
    #[doc = "                  its dtype and rank: shape says up to which size each dimension of an element is filled, MDIST_ROWS"]
    #[doc = "                  up to the longest of the batch; data points to one element of the dtype, which fills (copied), or is"]
    #[doc = "                  NULL for zero. An element that is larger is MDIST_ERR_MISMATCH when it comes"]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_dataset_padded_batch(
        source: *const mdist_dataset_t,
        batch_size: u64,
        drop_remainder: i32,
        paddings: *const mdist_tensor_t,
        padding_count: usize,
        out: *mut *mut mdist_dataset_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " The rows of each element, as elements. All components need a first dimension, the same for all, else"]
    #[doc = " MDIST_ERR_MISMATCH."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_dataset_unbatch(
        source: *const mdist_dataset_t,
        out: *mut *mut mdist_dataset_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Cuts the rows of all elements, as one sequence, into batches of @p batch_sizes in turn, again and again. A size of 0"]
    #[doc = " gives a batch of no rows, without looking for more of them. The last batch may be shorter; with @p drop_remainder"]
    #[doc = " non-zero it is left out then. All components need a first dimension, the same for all, else MDIST_ERR_MISMATCH."]
    #[doc = " @param batch_sizes  copied; at least one of them is not 0"]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_dataset_rebatch(
        source: *const mdist_dataset_t,
        batch_sizes: *const u64,
        size_count: usize,
        drop_remainder: i32,
        out: *mut *mut mdist_dataset_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " As mdist_dataset_map, but on threads of each iterator: up to @p parallel_calls of @p map run at a time, and up to as"]
    #[doc = " many elements wait to be taken."]
    #[doc = " @param ordered  non-zero: elements come in the order of the source; 0: as they are done"]
    #[doc = " @thread any   @blocks no   @collective no"]
    #[doc = " @calls-back never in this call: map later, several at a time, on threads of the library; free_user_data, on any"]
    #[doc = " @since 0.1"]
    pub fn mdist_dataset_map_parallel(
        source: *const mdist_dataset_t,
        map: mdist_map_fn,
        user_data: *mut ::std::os::raw::c_void,
        free_user_data: mdist_free_fn,
        outputs: *const mdist_tensor_t,
        output_count: usize,
        parallel_calls: u32,
        ordered: i32,
        out: *mut *mut mdist_dataset_t,
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
extern "C" {
    #[doc = " Makes a plain value around the memory of @p managed (kept, not copied), which must not change as long as anything may"]
    #[doc = " read the value. On success the library owns @p managed and calls its deleter once, with the last reference; as a"]
    #[doc = " free_user_data it must not call the library, throw, or end its thread. On failure @p managed is still yours and as it"]
    #[doc = " was. With NULL for a deleter, @p managed is not needed after the call, and the memory as long as with"]
    #[doc = " mdist_value_wrap. From a Python capsule: take the pointer, and on success rename the capsule to \"used_dltensor\"."]
    #[doc = " @thread any   @blocks no   @collective no"]
    #[doc = " @calls-back the deleter, on the thread that drops the last reference   @since 0.1"]
    pub fn mdist_value_from_dlpack(
        managed: *mut DLManagedTensor,
        out: *mut *mut mdist_value_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " The same for the layout with a version in front (in Python \"used_dltensor_versioned\")."]
    #[doc = " @thread any   @blocks no   @collective no"]
    #[doc = " @calls-back the deleter, on the thread that drops the last reference   @since 0.1"]
    pub fn mdist_value_from_dlpack_versioned(
        managed: *mut DLManagedTensorVersioned,
        out: *mut *mut mdist_value_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Describes tensor @p index of a value for another library, with its strides written out. The memory is shared and"]
    #[doc = " stays until that library calls the deleter of @p out, from any thread, also when the value is destroyed before. (What"]
    #[doc = " mdist_value_wrap was given without free_user_data stays as long as its owner lets it.) Only read it: values never"]
    #[doc = " change, which this layout cannot say."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_value_to_dlpack(
        value: *const mdist_value_t,
        index: usize,
        out: *mut *mut DLManagedTensor,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " The same in the layout with a version in front (1.0), marked as read-only."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_value_to_dlpack_versioned(
        value: *const mdist_value_t,
        index: usize,
        out: *mut *mut DLManagedTensorVersioned,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " The number of GPUs that this process can use, and in words what they are, or why there are none: no module of the"]
    #[doc = " library for them, no driver, no card. Having none is no error. The first call loads the module and asks CUDA: not"]
    #[doc = " before a fork() whose child uses GPUs, as CUDA does not survive it."]
    #[doc = " @param text      may be NULL; a line for each GPU and one about NCCL, which is loaded to be asked; or why there are"]
    #[doc = "                  no GPUs. Cut off at @p capacity bytes, always terminated"]
    #[doc = " @param needed    may be NULL; the bytes that all of the text takes, with its end"]
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
    #[doc = " The stream of a replica (a cudaStream_t), for kernels of its step; NULL of a replica on the CPU. It stays the same"]
    #[doc = " for the life of the strategy, unless mdist_replica_use_stream says otherwise."]
    #[doc = " @thread the replica's, in its step   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_replica_stream(
        replica: *mut mdist_replica_t,
        stream: *mut *mut ::std::os::raw::c_void,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Has the library work on a stream of yours (a cudaStream_t of the replica's GPU) until the step ends, behind what it"]
    #[doc = " has been given so far. NULL: on its own again, behind what is on yours. Destroy it only after the step."]
    #[doc = " @thread the replica's, in its step   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_replica_use_stream(
        replica: *mut mdist_replica_t,
        stream: *mut ::std::os::raw::c_void,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Copies between tensors of one type and shape, wherever they lie; done on return. It stands in no order with what a"]
    #[doc = " step has put on a stream: in a step take mdist_replica_copy."]
    #[doc = " @param to  its memory is written; ranges are the same or do not overlap"]
    #[doc = " @thread any   @blocks for the copy   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_tensor_copy(
        to: *const mdist_tensor_t,
        from: *const mdist_tensor_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " The same in a step, behind what the replica's stream has been given. Done on return if one of the two is of the host,"]
    #[doc = " else in its turn."]
    #[doc = " @thread the replica's, in its step   @blocks for a copy from or to the host   @collective no   @calls-back never"]
    #[doc = " @since 0.1"]
    pub fn mdist_replica_copy(
        replica: *mut mdist_replica_t,
        to: *const mdist_tensor_t,
        from: *const mdist_tensor_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Work of a step that costs less to start the second time: what @p body puts on the replica's stream, as a CUDA graph."]
    #[doc = " The first call with a key calls @p body, which is recorded, and launches the graph; later ones launch it and do not"]
    #[doc = " call @p body. Kernels, copies and collectives keep the addresses and numbers that they were recorded with: change"]
    #[doc = " what lies there. Memory that the body gets on the GPU, or gives back, stays with the graph. That goes when it is"]
    #[doc = " forgotten, or with the strategy."]
    #[doc = ""]
    #[doc = " Recorded are replicas that are alone in their process, on a GPU, if there are no other workers or NCCL leads to them,"]
    #[doc = " and not with `gpu.blocking`. Everywhere else, so on the CPU, @p body is called each time. All workers make the same"]
    #[doc = " calls with the same keys in the same order."]
    #[doc = ""]
    #[doc = " Nothing in the body has happened before the graph is launched. So whatever would wait there is"]
    #[doc = " MDIST_ERR_WRONG_CONTEXT, reason `recording`: copies from and to the host, merges, another stream, another graph."]
    #[doc = " Then, and if the body fails, nothing is recorded or done, and the run fails."]
    #[doc = " @param key   any number; one graph for each"]
    #[doc = " @param body  puts work on the stream; what it starts, it waits for. Returns 0, or any other number to fail, which"]
    #[doc = "              mdist_error_native then gives. NULL: forgets the graph"]
    #[doc = " @thread the replica's, in its step   @blocks no, but with other workers until they have come   @collective yes"]
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
    #[doc = " Page-locked memory of the host, filled with zeros, which GPUs copy from and to at full speed; ordinary memory where"]
    #[doc = " there are none. Yours until mdist_free."]
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
#[doc = " Options, the same on all workers. NULL, or all zero but struct_size: SUM, buckets of 4 MiB, not clipped."]
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
#[doc = " Options, the same on all workers. NULL, or all zero but struct_size: SUM, buckets of 4 MiB, not clipped."]
pub type mdist_gradients_options_t = mdist_gradients_options;
extern "C" {
    #[doc = " Room for the gradients of a model on each local replica: zeros, and shared between workers as mdist_alloc's memory"]
    #[doc = " is. It keeps the strategy."]
    #[doc = " @param like   shape and floating-point type of each; data is not read. If it is a variable's memory"]
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
    #[doc = " Where a gradient lies on a local replica, in memory of its device: until mdist_gradients_destroy, always there. Yours"]
    #[doc = " to write until it is ready, and again after the wait, which does not clear it."]
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
    #[doc = " The round that begins is one that adds to the next: its gradients are kept, with those of the rounds before, until a"]
    #[doc = " round without this call reduces the sum of them all. Before the first is ready. Each is added in its own type."]
    #[doc = " @thread replica   @blocks no   @collective no, but the same on all replicas   @calls-back never   @since 0.1"]
    pub fn mdist_gradients_accumulate(
        replica: *mut mdist_replica_t,
        gradients: *mut mdist_gradients_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " This replica's gradient is complete: from now until the wait it belongs to the library. Twice in a round is"]
    #[doc = " MDIST_ERR_FAILED_PRECONDITION, reason `ready_twice`. Moves on what is under way, as mdist_work_test does."]
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
    #[doc = " Ends the round: when it returns, all gradients are reduced and clipped. A gradient that is not ready is"]
    #[doc = " MDIST_ERR_FAILED_PRECONDITION, reason `gradients_missing`, and the message names it (but see"]
    #[doc = " MDIST_GRADIENTS_ZERO_MISSING). A round that adds to the next returns at once, with norm 0 and finite 1."]
    #[doc = " @param norm    receives what it was before clipping, the same on all replicas; 0 with MDIST_GRADIENTS_NO_NORM. May be"]
    #[doc = "                NULL."]
    #[doc = " @param finite  receives 1, or 0 where some element is NaN or infinite, or so large that the norm is: then leave this"]
    #[doc = "                step out; all replicas know it alike. 1 with MDIST_GRADIENTS_NO_NORM. May be NULL."]
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
    #[doc = " Frees it. Where a step is within a round of it, the memory stays until that step ends. NULL is fine."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_gradients_destroy(gradients: *mut mdist_gradients_t);
}
pub const MDIST_SHARD_OFF: mdist_shard_policy = -1;
pub const MDIST_SHARD_AUTO: mdist_shard_policy = 0;
pub const MDIST_SHARD_FILE: mdist_shard_policy = 1;
pub const MDIST_SHARD_DATA: mdist_shard_policy = 2;
pub const MDIST_SHARD_BY_HINT: mdist_shard_policy = 3;
pub const MDIST_SHARD_PIN_INT32: mdist_shard_policy = -2147483648;
#[doc = " Who reads what. (TensorFlow: AutoShardPolicy, with its numbers.)"]
pub type mdist_shard_policy = ::std::os::raw::c_int;
#[doc = " Who reads what. (TensorFlow: AutoShardPolicy, with its numbers.)"]
pub use self::mdist_shard_policy as mdist_shard_policy_t;
pub const MDIST_UNEVEN_DEFAULT: mdist_uneven = 0;
pub const MDIST_UNEVEN_SPREAD: mdist_uneven = 1;
pub const MDIST_UNEVEN_DROP: mdist_uneven = 2;
pub const MDIST_UNEVEN_PIN_INT32: mdist_uneven = -2147483648;
#[doc = " What becomes of rows that are not shared out evenly."]
pub type mdist_uneven = ::std::os::raw::c_int;
#[doc = " What becomes of rows that are not shared out evenly."]
pub use self::mdist_uneven as mdist_uneven_t;
pub const MDIST_REPLICATION_PER_WORKER: mdist_replication_mode = 0;
pub const MDIST_REPLICATION_PER_REPLICA: mdist_replication_mode = 1;
pub const MDIST_REPLICATION_PIN_INT32: mdist_replication_mode = -2147483648;
#[doc = " For whom the function of mdist_distribute_from_function makes a dataset."]
pub type mdist_replication_mode = ::std::os::raw::c_int;
#[doc = " For whom the function of mdist_distribute_from_function makes a dataset."]
pub use self::mdist_replication_mode as mdist_replication_mode_t;
#[doc = " Options of a distribution. NULL, or all zero but struct_size: the strategy's configuration."]
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
#[doc = " Options of a distribution. NULL, or all zero but struct_size: the strategy's configuration."]
pub type mdist_input_options_t = mdist_input_options;
extern "C" {
    #[doc = " Deals out @p source, a dataset of global batches, to the replicas of the job, as said at the top of this header. The"]
    #[doc = " source must be batched: every component has a first dimension, the same for all. The result can be iterated, but not"]
    #[doc = " transformed further; batch, shuffle and the like come before. All workers make its iterators in one order. Shuffles"]
    #[doc = " must have the same seed on all workers, which is the program's part. @p source may be destroyed afterwards."]
    #[doc = " (TensorFlow: experimental_distribute_dataset, make_dataset_iterator.) MDIST_ERR_INVALID_ARGUMENT for scalar"]
    #[doc = " components (but with MDIST_INPUT_NO_SPLIT), and options that exclude each other. MDIST_ERR_NOT_FOUND if policy FILE"]
    #[doc = " finds no files that are read; MDIST_ERR_FAILED_PRECONDITION, reason `too_few_files`, on all workers, if there are"]
    #[doc = " fewer files than workers, or `too_few_elements`, if whole elements are. What fails on one worker, be it its own"]
    #[doc = " arguments, fails on all with the same words and the rank of that worker, and so does what they do not have alike"]
    #[doc = " (MDIST_ERR_MISMATCH: policy taken, rows of a step, flags, uneven, weights, components); the job goes on then."]
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
#[doc = " For whom a dataset is made. (TensorFlow: InputContext.)"]
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
#[doc = " For whom a dataset is made. (TensorFlow: InputContext.)"]
pub type mdist_input_context_t = mdist_input_context;
extern "C" {
    #[doc = " The rows of @p global_batch_size for one replica. MDIST_ERR_INVALID_ARGUMENT if they can't be shared out evenly."]
    #[doc = " (TensorFlow: get_per_replica_batch_size.)"]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_input_context_batch_size(
        context: *const mdist_input_context_t,
        global_batch_size: u64,
        out: *mut u64,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
#[doc = " Makes a dataset, whose elements are batches of one replica. @p out receives a handle that is the library's from then"]
#[doc = " on, also if this fails; @p context is valid in the call only. Returns 0, or any other number to fail the distribution"]
#[doc = " with MDIST_ERR_CALLBACK, which mdist_error_native then gives."]
pub type mdist_dataset_fn = ::std::option::Option<
    unsafe extern "C" fn(
        context: *const mdist_input_context_t,
        out: *mut *mut mdist_dataset_t,
        user_data: *mut ::std::os::raw::c_void,
    ) -> i32,
>;
extern "C" {
    #[doc = " Deals out the dataset that @p function makes: nothing is split or shared, each step takes an element for each replica"]
    #[doc = " of this worker in turn. What fails on one worker, or is not alike, fails on all, as in mdist_distribute_dataset."]
    #[doc = " (TensorFlow: distribute_datasets_from_function, make_input_fn_iterator.)"]
    #[doc = " @param options  policy, uneven and weights must be 0: they are the function's part"]
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
    #[doc = " Tells, in lines for people, how a dataset is made; of a distributed one which policy was taken and why, who reads"]
    #[doc = " what, and how many rows each replica gets in a step. text, capacity and needed as in mdist_config_get."]
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
    #[doc = " The rows of each replica of the job, by id, in the element that the iterator of a distributed dataset gave last: the"]
    #[doc = " denominators of means, where steps are not even; a scalar counts as a row. MDIST_ERR_FAILED_PRECONDITION before the"]
    #[doc = " first element, after a restore until the next one, and for a dataset that is not distributed."]
    #[doc = " @param count  replicas of the job"]
    #[doc = " @thread one at a time per iterator   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_iterator_rows(
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
#[doc = " Receives finished text of @p length bytes, with a NUL behind it and no line end. Runs on whichever thread logs, one"]
#[doc = " call at a time; must not call into the library or end its thread. The text dies with the call."]
pub type mdist_log_fn = ::std::option::Option<
    unsafe extern "C" fn(
        level: mdist_log_level_t,
        text: *const ::std::os::raw::c_char,
        length: usize,
        user_data: *mut ::std::os::raw::c_void,
    ),
>;
extern "C" {
    #[doc = " Sends messages to @p sink from now on (kept). NULL brings the default sink back. @p free_user_data (may be NULL)"]
    #[doc = " runs when the sink is replaced, or at once if this call fails."]
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
    #[doc = " Messages above @p level are dropped."]
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
#[doc = " A loop under way, as its function sees it, and what came out of it once it is over."]
pub type mdist_loop_t = mdist_loop;
#[doc = " Called for each element, in cross-replica context, on the thread that called mdist_run_steps. @p element is one"]
#[doc = " value, as from mdist_iterator_next_value, and dies with the call. Returns 0, or any other number to fail the loop,"]
#[doc = " which mdist_error_native then gives. May call any function of cross-replica context."]
pub type mdist_loop_fn = ::std::option::Option<
    unsafe extern "C" fn(
        strategy: *mut mdist_strategy_t,
        loop_: *mut mdist_loop_t,
        element: *mut mdist_value_t,
        user_data: *mut ::std::os::raw::c_void,
    ) -> i32,
>;
extern "C" {
    #[doc = " Calls @p function for the next @p iterations elements of @p iterator, one after another. MDIST_END if they ran out"]
    #[doc = " before, after MDIST_FOREVER always; what was done until then counts, and @p out is there, too. (With several workers"]
    #[doc = " and a plain dataset, an element that others have is lost then; a distributed one ends on all in the same step.) The"]
    #[doc = " first failure ends the loop, with several workers on all of them, and the job's collectives as a failed run does;"]
    #[doc = " nothing comes out."]
    #[doc = " @param iterations  the same on all workers"]
    #[doc = " @param iterator    of this strategy's distributed dataset, or of a plain one, whose elements all replicas see"]
    #[doc = " @param initial     NULL, or a structure of plain values: outputs before any was set. Then no others may be set, and"]
    #[doc = "                    each keeps its dtype and shape."]
    #[doc = " @param options     timeout_ns is for each wait for other workers"]
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
    #[doc = " Sets the output at @p path from outside of steps: a value of any kind, kept (NONE), or reduced when the loop is over"]
    #[doc = " as mdist_reduce does, and refused as there: a plain value has no sum over several replicas unless it is 0. A"]
    #[doc = " structure puts out its leaves, below the path. Once the loop is over it is MDIST_ERR_FAILED_PRECONDITION, reason"]
    #[doc = " `loop_over`."]
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
    #[doc = " Sets it from inside a step: this replica's part, a copy of @p tensor. Every replica sets the same paths with the"]
    #[doc = " same aggregation, which is checked when the loop's function returns. Nobody waits. NONE is"]
    #[doc = " MDIST_ERR_INVALID_ARGUMENT, as in TensorFlow: to keep the parts, make them a result of the run, and"]
    #[doc = " mdist_loop_set_output with that. So it is in a step of an in-graph job (MDIST_ERR_UNSUPPORTED)."]
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
    #[doc = " The outputs of a loop that is over, as a structure; without leaves if there is none. Before that it is"]
    #[doc = " MDIST_ERR_FAILED_PRECONDITION, reason `loop_running`. (TensorFlow: MultiStepContext.last_step_outputs.)"]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_loop_outputs(
        loop_: *const mdist_loop_t,
        out: *mut *mut mdist_value_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Keeps a pointer under a name, one for each local replica: what is no tensor. The last one counts. It is yours: never"]
    #[doc = " looked at, never freed. (TensorFlow: MultiStepContext.set_non_tensor_output.)"]
    #[doc = " @param local_replica  whose it is: in a step mdist_replica_local_index"]
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
    #[doc = " The pointer that was kept, at any time; MDIST_ERR_NOT_FOUND if none was. (TensorFlow:"]
    #[doc = " MultiStepContext.non_tensor_outputs.)"]
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
    #[doc = " Elements that are done; in the loop's function those before this one. 0 for a bad handle."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_loop_iterations(loop_: *const mdist_loop_t) -> u64;
}
extern "C" {
    #[doc = " Frees a loop that is over. NULL is fine."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_loop_destroy(loop_: *mut mdist_loop_t);
}
extern "C" {
    #[doc = " The sum of this replica's @p per_example, each times its weight if there are weights, divided by the number of"]
    #[doc = " examples of all replicas. The gradient of an element is its weight divided by @p global_batch. Summed up in double."]
    #[doc = " (TensorFlow: compute_average_loss, whose default is the number of this replica times that of replicas.)"]
    #[doc = " @param per_example   [k, ...], k examples, none is fine; a floating-point type"]
    #[doc = " @param weights       NULL, or of the same type and shape, or [k]"]
    #[doc = " @param global_batch  the examples of all replicas: if 0, they are counted and written here; else that is taken, and"]
    #[doc = "                      nobody is asked. On all replicas or on none."]
    #[doc = " @param loss          0 if no replica has an example, so that a step without data changes nothing"]
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
    #[doc = " The sum of the elements of @p terms divided by the number of replicas, for what depends on the variables alone and is"]
    #[doc = " the same on each replica: their losses add up to it. (TensorFlow: scale_regularization_loss.)"]
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
    #[doc = " Memory on the device of a local replica, 64-byte aligned and filled with zeros. Yours until mdist_free, also when"]
    #[doc = " the strategy goes. Of a GPU, its memory: mdist_tensor_copy reaches it, and mdist_free may come while the replica's"]
    #[doc = " stream is still to use it. On the CPU, in a job whose workers are all on one host, reductions of such memory (as of"]
    #[doc = " variables) need no copies on the way from worker to worker. (In a child that is forked off, such memory is its"]
    #[doc = " parent's own: it must not write there.)"]
    #[doc = " @param strategy  NULL: memory of the host; @p local_replica must be 0 then"]
    #[doc = " @param bytes     may be 0: an address that is not NULL, with nothing behind it"]
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
    #[doc = " Gives memory of mdist_alloc back, when no call, started collective, value or dataset uses it any more. NULL, and what"]
    #[doc = " is not given out, is ignored (but an address given back may be given out again). Fits mdist_free_fn: give it, with"]
    #[doc = " the memory as user_data, to functions that keep memory, and the library frees it without a call into your language."]
    #[doc = " (Several arrays of one dataset then lie in one such memory.)"]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_free(memory: *mut ::std::os::raw::c_void);
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mdist_preemption {
    _unused: [u8; 0],
}
pub type mdist_preemption_t = mdist_preemption;
pub const MDIST_PREEMPTION_GO_ON: mdist_preemption_verdict = 0;
pub const MDIST_PREEMPTION_SAVE: mdist_preemption_verdict = 1;
pub const MDIST_PREEMPTION_END: mdist_preemption_verdict = 2;
pub const MDIST_PREEMPTION_PIN_INT32: mdist_preemption_verdict = -2147483648;
pub type mdist_preemption_verdict = ::std::os::raw::c_int;
pub use self::mdist_preemption_verdict as mdist_preemption_verdict_t;
#[doc = " Options. NULL, or all zero but struct_size: no grace."]
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mdist_preemption_options {
    pub struct_size: u32,
    pub flags: u32,
    pub grace_ns: u64,
}
#[test]
fn bindgen_test_layout_mdist_preemption_options() {
    assert_eq!(
        ::std::mem::size_of::<mdist_preemption_options>(),
        16usize,
        concat!("Size of: ", stringify!(mdist_preemption_options))
    );
    assert_eq!(
        ::std::mem::align_of::<mdist_preemption_options>(),
        8usize,
        concat!("Alignment of ", stringify!(mdist_preemption_options))
    );
    fn test_field_struct_size() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_preemption_options>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).struct_size) as usize - ptr as usize
            },
            0usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_preemption_options),
                "::",
                stringify!(struct_size)
            )
        );
    }
    test_field_struct_size();
    fn test_field_flags() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_preemption_options>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).flags) as usize - ptr as usize
            },
            4usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_preemption_options),
                "::",
                stringify!(flags)
            )
        );
    }
    test_field_flags();
    fn test_field_grace_ns() {
        assert_eq!(
            unsafe {
                let uninit = ::std::mem::MaybeUninit::<mdist_preemption_options>::uninit();
                let ptr = uninit.as_ptr();
                ::std::ptr::addr_of!((*ptr).grace_ns) as usize - ptr as usize
            },
            8usize,
            concat!(
                "Offset of field: ",
                stringify!(mdist_preemption_options),
                "::",
                stringify!(grace_ns)
            )
        );
    }
    test_field_grace_ns();
}
#[doc = " Options. NULL, or all zero but struct_size: no grace."]
pub type mdist_preemption_options_t = mdist_preemption_options;
extern "C" {
    #[doc = " Makes a strategy's place for announcements. It keeps the strategy; one per strategy is enough."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_preemption_create(
        strategy: *mut mdist_strategy_t,
        out: *mut *mut mdist_preemption_t,
        options: *const mdist_preemption_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " This worker is to go. Safe in a signal handler, as long as no other thread destroys the handle meanwhile. The first"]
    #[doc = " call counts; a bad handle is ignored."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_preemption_announce(preemption: *mut mdist_preemption_t);
}
extern "C" {
    #[doc = " Asks all workers whether any was told to go. Without grace the first answer after an announcement is END. With grace"]
    #[doc = " it is SAVE, then GO_ON, and END when what is left is less than twice the longest time between two checks."]
    #[doc = " Costs a small exchange between workers, and nothing to speak of with one."]
    #[doc = " @param verdict  receives an mdist_preemption_verdict_t, the same on all workers"]
    #[doc = " @param worker   receives the rank of the worker it was announced to, the first of several; -1: none. May be NULL."]
    #[doc = " @thread one at a time per strategy   @blocks for the other workers   @collective all workers"]
    #[doc = " @calls-back never   @since 0.1"]
    pub fn mdist_preemption_check(
        preemption: *mut mdist_preemption_t,
        verdict: *mut i32,
        worker: *mut i32,
        options: *const mdist_call_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Frees it. Restore the signal's handler before. NULL is fine."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_preemption_destroy(preemption: *mut mdist_preemption_t);
}
extern "C" {
    #[doc = " Gives @p step a name in @p strategy. The last registration of a name counts. With several workers led by a client,"]
    #[doc = " all must register the same names before they serve and before its first command, which compares them:"]
    #[doc = " MDIST_ERR_MISMATCH on all of them, reason `different_registrations`, says which is missing where; later ones are"]
    #[doc = " MDIST_ERR_FAILED_PRECONDITION."]
    #[doc = " @param user_data  given to the step on this worker; stays valid while runs by that name are under way"]
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
    #[doc = " The same for what mdist_update calls. Steps and updates have names of their own."]
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
    #[doc = " mdist_run of the step that is registered as @p name; on the client on the replicas of all workers, each of which"]
    #[doc = " gets its part of the arguments, and gives its part of the results. MDIST_ERR_NOT_FOUND lists what is registered."]
    #[doc = " A step that fails anywhere ends the session, as a failed step ends every job of several workers: the error has its"]
    #[doc = " sentence, mdist_error_replica and mdist_error_worker. What is found wrong before the workers are asked (a name, an"]
    #[doc = " argument) ends nothing."]
    #[doc = " @param options  timeout_ns is for each wait for other workers, those in the step's collectives too"]
    #[doc = " @thread one at a time per strategy   @blocks until every step has returned   @collective no"]
    #[doc = " @calls-back the step, as mdist_run   @since 0.1"]
    pub fn mdist_run_named(
        strategy: *mut mdist_strategy_t,
        name: *const ::std::os::raw::c_char,
        arguments: *const *mut mdist_value_t,
        argument_count: usize,
        results: *mut *mut mdist_value_t,
        result_count: usize,
        options: *const mdist_call_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " mdist_update of @p variable, or mdist_update_non_slot if that is NULL, with the update registered as @p name; on the"]
    #[doc = " client on the copies of all workers. Failures as in mdist_run_named."]
    #[doc = " @thread one at a time per strategy   @blocks until the last copy is done   @collective no"]
    #[doc = " @calls-back the update, as mdist_update   @since 0.1"]
    pub fn mdist_update_named(
        strategy: *mut mdist_strategy_t,
        variable: *mut mdist_variable_t,
        name: *const ::std::os::raw::c_char,
        arguments: *const *mut mdist_value_t,
        argument_count: usize,
        results: *mut *mut mdist_value_t,
        result_count: usize,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Does what the client asks, until it destroys its strategy: MDIST_OK then. Afterwards the strategy has nothing to do"]
    #[doc = " any more. A client that is lost, or ends without destroying it, is MDIST_ERR_PEER_LOST; a step that fails here is"]
    #[doc = " what mdist_run says, one that fails elsewhere MDIST_ERR_ABORTED. Steps find the client's variables by"]
    #[doc = " mdist_variable_find. On the client it is MDIST_ERR_WRONG_CONTEXT, and for a strategy that nobody leads"]
    #[doc = " MDIST_ERR_FAILED_PRECONDITION; on a worker that serves, other functions outside of steps are MDIST_ERR_WRONG_CONTEXT."]
    #[doc = " @param options  timeout_ns is for each wait for the client's next command: MDIST_ERR_TIMEOUT ends the session."]
    #[doc = "                 0: `communication.timeout`; MDIST_FOREVER: as long as the client is there"]
    #[doc = " @thread one at a time per strategy   @blocks until the client has ended the session   @collective no"]
    #[doc = " @calls-back registered steps and updates   @since 0.1"]
    pub fn mdist_serve(
        strategy: *mut mdist_strategy_t,
        options: *const mdist_call_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Opens a run: from here to mdist_run_end the strategy is busy, and each local replica may be entered once. Inside a"]
    #[doc = " merge that was opened by mdist_merge_begin it opens a nested run."]
    #[doc = " @param arguments     as in mdist_run"]
    #[doc = " @param result_count  how many results replicas may set"]
    #[doc = " @param options       timeout_ns is for the collectives of this run that give none of their own"]
    #[doc = " @thread one at a time per strategy   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_run_begin(
        strategy: *mut mdist_strategy_t,
        arguments: *const *mut mdist_value_t,
        argument_count: usize,
        result_count: usize,
        options: *const mdist_call_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Closes the run. Returns what mdist_run would: the first failure of any replica, else MDIST_OK and the results."]
    #[doc = " While a replica is inside it is MDIST_ERR_FAILED_PRECONDITION, reason `replica_inside`, and the run stays open. A"]
    #[doc = " replica that never entered is one too, reason `not_entered`, if nothing else failed; the run is closed then."]
    #[doc = " Without an open run it is reason `no_run`. To be called after a failure and mdist_strategy_abort, too; not after"]
    #[doc = " mdist_strategy_destroy: the last replica to exit closes the run then."]
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
    #[doc = " Enters the step of local replica @p local_replica: @p out is in replica context until mdist_replica_exit, and takes"]
    #[doc = " every function of replica context. A second time in one run is reason `entered_before`. A replica whose thread cannot"]
    #[doc = " come, and that others wait for, can be entered and left with a code from any thread."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_replica_enter(
        strategy: *mut mdist_strategy_t,
        local_replica: u32,
        out: *mut *mut mdist_replica_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Leaves the step; the handle dies. A @p code other than 0 fails the run and releases all others, as a step that"]
    #[doc = " returns it does. An operation that is still under way (mdist_all_reduce_start), or a merge still open, fails the run"]
    #[doc = " likewise, reason `work_under_way` or `merge_open`; that is an error here, too, but the replica has left all the same,"]
    #[doc = " and mdist_run_end tells the first cause: one may look there only. (Local replica 0 alone stays where it is, reason"]
    #[doc = " `busy`, while another thread is at work in its open merge.)"]
    #[doc = " @thread any, one at a time per replica   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_replica_exit(
        replica: *mut mdist_replica_t,
        code: i32,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Opens a merge without a function: every local replica, entered by mdist_replica_enter, calls this and then"]
    #[doc = " mdist_merge_end. What local replica 0 does in between happens once for all, in cross-replica context: the functions"]
    #[doc = " that take a strategy are the right ones there, by any thread. (mdist_merge_call is for entered replicas, too; in a"]
    #[doc = " step of mdist_run it is the only way.)"]
    #[doc = " If it fails, no merge is open, and mdist_merge_end is not to be called."]
    #[doc = " @param arguments  this replica's tensors, as in mdist_merge_call"]
    #[doc = " @param values     on local replica 0: receives the replicas' tensors regrouped, @p argument_count values that are"]
    #[doc = "                   yours; on the others: NULLs. May be NULL if @p argument_count is 0."]
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
    #[doc = " Closes the merge, and hands each replica its own part of the values that local replica 0 gives. Reasons `no_merge`"]
    #[doc = " and, on local replica 0 while another thread is at work in the merge, `busy` change nothing; any other failure closes"]
    #[doc = " it, too, and fails the run."]
    #[doc = " @param values   on local replica 0: @p count values, or NULLs for results that nobody gets; they stay yours. On the"]
    #[doc = "                 others: not read."]
    #[doc = " @param results  receives @p count descriptions, borrowed until this replica's next merge or its exit; data NULL and"]
    #[doc = "                 dtype 0 for a structure (mdist_replica_merge_result_at) and for a NULL. The same count on every"]
    #[doc = "                 replica, else MDIST_ERR_MISMATCH."]
    #[doc = " @param code     on local replica 0: other than 0 fails the run, as a merge function that returns it does; values are"]
    #[doc = "                 not read then. On the others: 0."]
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
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mdist_store {
    _unused: [u8; 0],
}
pub type mdist_store_t = mdist_store;
extern "C" {
    #[doc = " Binds an address and begins to serve."]
    #[doc = " @param address       \"host:port\" or \"[ipv6]:port\"; port 0 takes a free one, which mdist_store_address tells. The host"]
    #[doc = "                      must be one of this machine's own; it is the only one that is bound"]
    #[doc = " @param worker_count  workers of the job, from 1"]
    #[doc = " @param job           its name, up to 255 bytes; workers of another are refused. NULL: \"\""]
    #[doc = " @param restart       how often the job has been started again: 0 at first. Workers with a smaller number"]
    #[doc = "                      (MDIST_RESTART) are refused as stale"]
    #[doc = " @param secret        what workers must know, NUL-terminated: the content of their secret file without the newline at"]
    #[doc = "                      its end. NULL or \"\": none; then whoever reaches the address may join"]
    #[doc = " @return MDIST_ERR_RESOURCE, reason `address_in_use`; MDIST_ERR_NOT_FOUND, reason `name_resolution`;"]
    #[doc = "         MDIST_ERR_UNSUPPORTED, reason `not_built`, for a secret in a build that has no cryptography"]
    #[doc = " @thread any   @blocks on the resolution of the host's name, up to 10 s   @collective no   @calls-back never"]
    #[doc = " @since 0.1"]
    pub fn mdist_store_create(
        address: *const ::std::os::raw::c_char,
        worker_count: u32,
        job: *const ::std::os::raw::c_char,
        restart: u32,
        secret: *const ::std::os::raw::c_char,
        out: *mut *mut mdist_store_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Where workers find it: \"host:port\" with the host as given to mdist_store_create and the true port. Like"]
    #[doc = " mdist_config_get: cut off where it does not fit, @p needed (may be NULL) receives the full size, NUL included."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_store_address(
        store: *const mdist_store_t,
        text: *mut ::std::os::raw::c_char,
        capacity: usize,
        needed: *mut usize,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " From now on the workers of another start of the job are awaited: @p restart must be larger than before. Those of the"]
    #[doc = " start before that still are connected are sent away, and new ones of it are refused as stale"]
    #[doc = " (MDIST_ERR_FAILED_PRECONDITION, reason `stale_session`). The address stays."]
    #[doc = " @param worker_count  may be another than before"]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_store_restart(
        store: *mut mdist_store_t,
        worker_count: u32,
        restart: u32,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " How far the workers are, for people: one line such as \"2 of 4 workers have joined; missing: 1, 3 (refused: ...)\", or"]
    #[doc = " \"4 workers are connected\". @p joined (may be NULL) receives how many are there, worker_count when the session is"]
    #[doc = " complete."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_store_progress(
        store: *const mdist_store_t,
        joined: *mut u32,
        text: *mut ::std::os::raw::c_char,
        capacity: usize,
        needed: *mut usize,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Ends the store and frees its address. Workers that have formed their session go on without it."]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_store_destroy(store: *mut mdist_store_t);
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mdist_work {
    _unused: [u8; 0],
}
pub type mdist_work_t = mdist_work;
extern "C" {
    #[doc = " mdist_all_reduce, started. @p out is yours to destroy."]
    #[doc = " @thread replica   @blocks no   @collective all replicas   @calls-back never   @since 0.1"]
    pub fn mdist_all_reduce_start(
        replica: *mut mdist_replica_t,
        op: mdist_reduce_op_t,
        inputs: *const mdist_buffer_t,
        outputs: *const mdist_buffer_t,
        buffer_count: usize,
        out: *mut *mut mdist_work_t,
        options: *const mdist_call_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " mdist_broadcast, started."]
    #[doc = " @thread replica   @blocks no   @collective all replicas   @calls-back never   @since 0.1"]
    pub fn mdist_broadcast_start(
        replica: *mut mdist_replica_t,
        root: u32,
        buffers: *const mdist_buffer_t,
        buffer_count: usize,
        out: *mut *mut mdist_work_t,
        options: *const mdist_call_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " mdist_all_gather, started."]
    #[doc = " @thread replica   @blocks no   @collective all replicas   @calls-back never   @since 0.1"]
    pub fn mdist_all_gather_start(
        replica: *mut mdist_replica_t,
        inputs: *const mdist_buffer_t,
        outputs: *const mdist_buffer_t,
        buffer_count: usize,
        out: *mut *mut mdist_work_t,
        options: *const mdist_call_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " mdist_reduce_scatter, started."]
    #[doc = " @thread replica   @blocks no   @collective all replicas   @calls-back never   @since 0.1"]
    pub fn mdist_reduce_scatter_start(
        replica: *mut mdist_replica_t,
        op: mdist_reduce_op_t,
        inputs: *const mdist_buffer_t,
        outputs: *const mdist_buffer_t,
        buffer_count: usize,
        out: *mut *mut mdist_work_t,
        options: *const mdist_call_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " mdist_all_to_all, started."]
    #[doc = " @thread replica   @blocks no   @collective all replicas   @calls-back never   @since 0.1"]
    pub fn mdist_all_to_all_start(
        replica: *mut mdist_replica_t,
        inputs: *const mdist_buffer_t,
        outputs: *const mdist_buffer_t,
        buffer_count: usize,
        out: *mut *mut mdist_work_t,
        options: *const mdist_call_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " mdist_reduce_to_root, started."]
    #[doc = " @thread replica   @blocks no   @collective all replicas   @calls-back never   @since 0.1"]
    pub fn mdist_reduce_to_root_start(
        replica: *mut mdist_replica_t,
        op: mdist_reduce_op_t,
        root: u32,
        inputs: *const mdist_buffer_t,
        outputs: *const mdist_buffer_t,
        buffer_count: usize,
        out: *mut *mut mdist_work_t,
        options: *const mdist_call_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " mdist_gather_to_root, started."]
    #[doc = " @thread replica   @blocks no   @collective all replicas   @calls-back never   @since 0.1"]
    pub fn mdist_gather_to_root_start(
        replica: *mut mdist_replica_t,
        root: u32,
        inputs: *const mdist_buffer_t,
        outputs: *const mdist_buffer_t,
        buffer_count: usize,
        out: *mut *mut mdist_work_t,
        options: *const mdist_call_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " mdist_scatter, started."]
    #[doc = " @thread replica   @blocks no   @collective all replicas   @calls-back never   @since 0.1"]
    pub fn mdist_scatter_start(
        replica: *mut mdist_replica_t,
        root: u32,
        inputs: *const mdist_buffer_t,
        outputs: *const mdist_buffer_t,
        buffer_count: usize,
        out: *mut *mut mdist_work_t,
        options: *const mdist_call_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " mdist_barrier, started."]
    #[doc = " @thread replica   @blocks no   @collective all replicas   @calls-back never   @since 0.1"]
    pub fn mdist_barrier_start(
        replica: *mut mdist_replica_t,
        out: *mut *mut mdist_work_t,
        options: *const mdist_call_options_t,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Moves the operation on, as far as that goes without waiting for other replicas' calls, and says whether it is done."]
    #[doc = " It fails as the blocking form would: for ever, with the same error."]
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
    #[doc = " Waits until the operation is over, or for @p timeout_ns at most: @p done receives 1 or 0. If it failed, that is the"]
    #[doc = " status. With MDIST_FOREVER the operation's own timeout is the only one."]
    #[doc = " @thread any   @blocks as said   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_work_wait(
        work: *mut mdist_work_t,
        timeout_ns: u64,
        done: *mut i32,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " A descriptor for poll, epoll and their kin, which is readable when mdist_work_test has something to do or to say: all"]
    #[doc = " replicas have come and there is work to take part in, the operation is done, it has failed or timed out, its work was"]
    #[doc = " destroyed. So: call mdist_work_test when it is readable; if that says 0, go on polling. From the end of the operation"]
    #[doc = " on it stays readable. Never read from it. (There is no callback, since with one worker no thread stands behind an"]
    #[doc = " operation that could make the call.)"]
    #[doc = " @param out  receives a new descriptor, closed on exec and yours to close, before or after mdist_work_destroy"]
    #[doc = " @thread any   @blocks no   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_work_descriptor(
        work: *mut mdist_work_t,
        out: *mut i32,
        error: *mut *mut mdist_error_t,
    ) -> mdist_status_t;
}
extern "C" {
    #[doc = " Frees a work. One that is not done is finished if all replicas have come, else given up, which fails the step (with"]
    #[doc = " several workers always, since nobody knows when the others would come): the run gets MDIST_ERR_ABORTED, reason"]
    #[doc = " `work_destroyed`, and the calls of other replicas reason `step_failed`. The buffers are yours again in any case. NULL"]
    #[doc = " is fine."]
    #[doc = " @thread any   @blocks no, but it takes part in the computing   @collective no   @calls-back never   @since 0.1"]
    pub fn mdist_work_destroy(work: *mut mdist_work_t);
}
