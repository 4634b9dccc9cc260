// SPDX-License-Identifier: Apache-2.0
//! The C API of libmdist, declaration by declaration; `mdist` is the safe layer above it.
//!
//! `bindings.rs` is made by the script `regenerate` and committed, so that building needs neither
//! bindgen nor libclang. Enumerations are constants of their C integer type: a number that a later
//! library adds is no undefined behaviour here. Every function's comment says which thread may call
//! it (`@thread`) and what it waits for (`@blocks`).
#![allow(non_camel_case_types, non_upper_case_globals, non_snake_case)]
// The comments are C's: their brackets are no links, and their addresses are plain text.
#![allow(rustdoc::broken_intra_doc_links, rustdoc::invalid_html_tags, rustdoc::bare_urls)]

include!("bindings.rs");
