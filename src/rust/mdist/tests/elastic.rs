// SPDX-License-Identifier: Apache-2.0
//! What of elastic jobs can be shown in one process of fixed size; examples/elastic.rs has the rest.
mod common;

use std::sync::Arc;

use common::{assert_usable, strategy};
use mdist::{Status, StepResult, VariableOptions};

fn nothing(_: u32, _: &mut [u8]) -> StepResult {
    Ok(())
}

fn ignored(_: u32, _: &[u8]) -> StepResult {
    Ok(())
}

#[test]
fn a_job_of_fixed_size_is_not_elastic() {
    let mut strategy = strategy(2);
    assert_eq!(strategy.commit(1).unwrap_err().reason(), "not_elastic");
    assert_eq!(strategy.regroup().unwrap_err().reason(), "not_elastic");
    assert!(!strategy.is_joining());
    assert_usable(&strategy);
}

#[test]
fn commits_and_regroups_need_the_copies_of_all_variables() {
    let mut strategy = strategy(2);
    let other = common::strategy(2);
    let weight = strategy.variable("weight", &0f32, VariableOptions::default());
    let others = other.variable("weight", &0f32, VariableOptions::default());
    let (weight, others) = (weight.unwrap(), others.unwrap());
    let of_another = others.copy_mut::<f32>(0).unwrap(); // does not matter
    let written = weight.copy_mut::<f32>(1).unwrap();
    assert_eq!(strategy.commit(1).unwrap_err().reason(), "borrowed");
    drop(written);
    let read = weight.copy::<f32>(1).unwrap();
    assert_eq!(strategy.commit(1).unwrap_err().reason(), "not_elastic");
    let error = strategy.regroup().unwrap_err();
    assert_eq!(
        (error.status(), error.reason()),
        (Status::FailedPrecondition, "borrowed")
    );
    assert!(error.to_string().contains("holds a copy"), "{error}");
    drop(read);
    assert_eq!(strategy.regroup().unwrap_err().reason(), "not_elastic");
    drop(of_another);
}

#[test]
fn a_blob_owns_its_closures() {
    let strategy = strategy(2);
    let captured = Arc::new(());
    let owned = captured.clone();
    let save = move |_: u32, _: &mut [u8]| -> StepResult {
        let _ = &owned;
        Ok(())
    };
    let blob = strategy.blob("state", 8, save.clone(), ignored).unwrap();
    let refused = strategy.blob("", 8, save, ignored).unwrap_err();
    assert_eq!(refused.status(), Status::InvalidArgument);
    assert_eq!(Arc::strong_count(&captured), 2); // the refused one is gone
    drop(blob);
    assert_eq!(Arc::strong_count(&captured), 1);
    let _outlives = strategy.blob("state", 8, nothing, ignored).unwrap();
    drop(strategy);
}
