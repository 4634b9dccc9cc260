// SPDX-License-Identifier: Apache-2.0
//! No signal that a call causes ends the program, though nobody handles it.
mod common;

use std::fs;

use common::strategy;
use mdist::{Status, VariableOptions};

#[repr(C)]
#[derive(Clone, Copy)]
struct Limit {
    soft: u64,
    hard: u64,
}

extern "C" {
    fn getrlimit(resource: i32, limit: *mut Limit) -> i32;
    fn setrlimit(resource: i32, limit: *const Limit) -> i32;
    fn signal(number: i32, handler: usize) -> usize;
}

const RLIMIT_FSIZE: i32 = 1;
const SIGXFSZ: i32 = 25;
const EFBIG: i64 = 27;
const DEFAULT: usize = 0;

fn limit_files(bytes: Option<u64>) {
    let mut limit = Limit { soft: 0, hard: 0 };
    unsafe {
        assert_eq!(getrlimit(RLIMIT_FSIZE, &mut limit), 0);
        limit.soft = bytes.unwrap_or(limit.hard);
        assert_eq!(setrlimit(RLIMIT_FSIZE, &limit), 0);
    }
}

#[test]
fn a_limit_on_the_size_of_files_is_an_error() {
    unsafe { signal(SIGXFSZ, DEFAULT) };
    let folder = std::env::temp_dir().join(format!("mdist-signals-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let strategy = strategy(2);
    let weights = mdist::Tensor::new(&[0f32; 1000], &[1000]).unwrap();
    let weights = strategy
        .variable("weights", weights, VariableOptions::default())
        .unwrap();
    let mut checkpoint = strategy.checkpoint(&folder, 2).unwrap();
    checkpoint.add(&weights).unwrap();
    limit_files(Some(1000));
    let saved = checkpoint.save(1);
    limit_files(None);
    let error = saved.unwrap_err();
    assert_eq!((error.status(), error.native()), (Status::Io, EFBIG));
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    checkpoint.save(1).unwrap();
    assert_eq!(unsafe { signal(SIGXFSZ, DEFAULT) }, DEFAULT); // still
    fs::remove_dir_all(&folder).unwrap();
}
