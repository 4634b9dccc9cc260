// SPDX-License-Identifier: Apache-2.0
//! What all tests need.
#![allow(dead_code)] // each uses its own part
use std::error::Error as _;

use mdist::{Config, Error, Strategy};

/// A strategy of so many CPU replicas, on threads of the library.
pub fn strategy(replicas: u32) -> Strategy {
    configured(replicas, &[])
}

pub fn configured(replicas: u32, keys: &[(&str, &str)]) -> Strategy {
    let mut config = Config::new().unwrap();
    config.set("devices", &format!("cpu*{replicas}")).unwrap();
    for (key, value) in keys {
        config.set(key, value).unwrap();
    }
    Strategy::new(&config).unwrap()
}

/// What caused an error, as text.
pub fn cause(error: &Error) -> String {
    error.source().expect("the error has no cause").to_string()
}

/// Proof that a strategy works: every replica counts.
pub fn assert_usable(strategy: &Strategy) {
    let count = strategy.replica_count();
    strategy
        .run(|replica| {
            let mut ones = [1i32; 100];
            replica.all_reduce(mdist::Op::Sum, &mut ones)?;
            if ones != [count as i32; 100] {
                return Err(format!("the sum is {ones:?}").into());
            }
            Ok(())
        })
        .unwrap();
}
