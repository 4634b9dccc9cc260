// SPDX-License-Identifier: Apache-2.0
//! Element types: what slices, tensors, variables and collectives are made of.
use std::ffi::CStr;
use std::fmt;

use mdist_sys as sys;

/// An element type's name.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Dtype(sys::mdist_dtype);

impl Dtype {
    pub(crate) const fn from_raw(dtype: sys::mdist_dtype) -> Dtype {
        Dtype(dtype)
    }
    pub(crate) fn raw(self) -> sys::mdist_dtype {
        self.0
    }
    /// "float32", "bfloat16" ...
    pub fn name(self) -> &'static str {
        // Safety: static text, for every number.
        let name: &'static CStr = unsafe { CStr::from_ptr(sys::mdist_dtype_name(self.0)) };
        name.to_str().unwrap_or("?")
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

impl fmt::Debug for Dtype {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

mod sealed {
    /// # Safety
    /// `DTYPE` describes this very type; every pattern of bits is a value; nothing to drop.
    pub unsafe trait Sealed: Copy + Default + Send + Sync + 'static {
        const DTYPE: super::Dtype;
    }
}
pub(crate) use sealed::Sealed;

/// The types that tensors are made of. Sealed: the library knows no others.
pub trait Element: Sealed {
    /// This type's name.
    fn dtype() -> Dtype {
        Self::DTYPE
    }
}

/// IEEE binary16, as its bits. Sums are taken in float32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct F16(pub u16);

/// The upper half of an `f32`, as its bits. Sums are taken in float32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Bf16(pub u16);

/// A truth value, as its byte: 0 is false, any other is true. Reductions give 0 or 1.
#[derive(Clone, Copy, Debug, Default)]
#[repr(transparent)]
pub struct Bool(pub u8);

impl Bool {
    pub fn is_true(self) -> bool {
        self.0 != 0
    }
}

impl PartialEq for Bool {
    fn eq(&self, other: &Bool) -> bool {
        self.is_true() == other.is_true()
    }
}

impl Eq for Bool {}

impl From<bool> for Bool {
    fn from(value: bool) -> Bool {
        Bool(u8::from(value))
    }
}

impl From<Bf16> for f32 {
    fn from(short: Bf16) -> f32 {
        f32::from_bits(u32::from(short.0) << 16)
    }
}

macro_rules! elements {
    ($($type:ty = $dtype:ident,)*) => {
        $(
            // Safety: plain numbers; the constants are those of their C types.
            unsafe impl Sealed for $type {
                const DTYPE: Dtype = Dtype::from_raw(sys::$dtype);
            }
            impl Element for $type {}
        )*
    };
}
elements! {
    f32 = MDIST_FLOAT32,
    f64 = MDIST_FLOAT64,
    F16 = MDIST_FLOAT16,
    Bf16 = MDIST_BFLOAT16,
    i8 = MDIST_INT8,
    u8 = MDIST_UINT8,
    i16 = MDIST_INT16,
    u16 = MDIST_UINT16,
    Bool = MDIST_BOOL,
    i32 = MDIST_INT32,
    u32 = MDIST_UINT32,
    i64 = MDIST_INT64,
    u64 = MDIST_UINT64,
}
