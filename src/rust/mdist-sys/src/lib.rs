// SPDX-License-Identifier: Apache-2.0
//! The C API of libmdist, declaration by declaration; `mdist` is the safe layer above it.
//!
//! `bindings.rs` is made by the script `regenerate` and committed, so that building needs neither
//! bindgen nor libclang. Enumerations are constants of their C integer type: a number that a later
//! library adds is no undefined behaviour here. Every function's comment says which thread may call
//! it (`@thread`) and what it waits for (`@blocks`).
#![allow(non_camel_case_types, non_upper_case_globals, non_snake_case)]

include!("bindings.rs");
