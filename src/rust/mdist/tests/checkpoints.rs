// SPDX-License-Identifier: Apache-2.0
//! Checkpoints, what any number of replicas restores of them; and leaving, which asks for them.
mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use common::strategy;
use mdist::{
    latest_checkpoint, Aggregation, Dataset, Element, Status, Synchronization, Value,
    VariableOptions, Verdict,
};

/// A folder of its own, which goes in the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("mdist-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

fn mirrored() -> VariableOptions {
    VariableOptions::default()
}

/// Saves checkpoint 3: two variables and a text.
fn save(folder: &Path) {
    let strategy = strategy(2);
    let weights = mdist::Tensor::new(&[1f32, 2.0, 3.0, 4.0], &[2, 2]).unwrap();
    let weights = strategy.variable("weights", weights, mirrored()).unwrap();
    let on_read = VariableOptions::default()
        .synchronization(Synchronization::OnRead)
        .aggregation(Aggregation::Sum);
    let seen = strategy.variable("seen", &6i64, on_read).unwrap();
    let mut checkpoint = strategy.checkpoint(folder, 2).unwrap();
    checkpoint
        .add_as("model/w", &weights)
        .unwrap()
        .add(&seen)
        .unwrap();
    drop((weights, seen)); // the checkpoint keeps them
    checkpoint.set_text("epoch", "7").unwrap();
    assert_eq!(checkpoint.keys().unwrap(), ["epoch"]);
    checkpoint.save(3).unwrap();
}

#[test]
fn any_number_of_replicas_restores() {
    let folder = Folder::new("restores");
    assert_eq!(latest_checkpoint(&folder.0).unwrap(), None);
    save(&folder.0);
    assert_eq!(latest_checkpoint(&folder.0).unwrap(), Some(3));
    for replicas in 1..=3 {
        let strategy = strategy(replicas);
        let weights = strategy
            .zeros("w", f32::dtype(), &[2, 2], mirrored())
            .unwrap();
        let mut checkpoint = strategy.checkpoint(&folder.0, 0).unwrap();
        checkpoint.add_as("model/w", &weights).unwrap();
        let error = checkpoint.restore(None).unwrap_err();
        assert_eq!(error.reason(), "different_variables", "{error}");
        assert_eq!(checkpoint.restore(Some(4)).unwrap(), None);
        assert_eq!(checkpoint.restore_partial(None).unwrap(), Some(3));
        assert_eq!(
            weights.copy::<f32>(replicas - 1).unwrap()[..],
            [1.0, 2.0, 3.0, 4.0]
        );
        assert_eq!(checkpoint.text("epoch").unwrap().as_deref(), Some("7"));
        assert_eq!(checkpoint.text("step").unwrap(), None);
    }
}

#[test]
fn an_iterator_goes_on_where_it_was_saved() {
    let folder = Folder::new("iterator");
    let strategy = strategy(2);
    let numbers = Dataset::range(0, 9, 1)
        .unwrap()
        .shuffle(9, 3, true)
        .unwrap();
    let number = |element: mdist::Result<Vec<Value>>| -> i64 {
        element.unwrap()[0]
            .tensor(0)
            .unwrap()
            .as_slice::<i64>()
            .unwrap()[0]
    };
    let mut iterator = numbers.iter().unwrap();
    let mut checkpoint = strategy.checkpoint(&folder.0, 0).unwrap();
    checkpoint.add_iterator("rows", &iterator).unwrap();
    iterator.next().unwrap().unwrap();
    checkpoint.save(1).unwrap();
    let rest: Vec<i64> = iterator.by_ref().map(number).collect();
    assert_eq!(rest.len(), 8);
    assert_eq!(checkpoint.restore(None).unwrap(), Some(1));
    assert_eq!(iterator.map(number).collect::<Vec<i64>>(), rest); // though it had ended

    let mut another = numbers.iter().unwrap();
    let mut checkpoint = strategy.checkpoint(&folder.0, 0).unwrap();
    checkpoint.add_iterator("rows", &another).unwrap();
    assert_eq!(checkpoint.restore(None).unwrap(), Some(1));
    assert_eq!(another.by_ref().map(number).collect::<Vec<i64>>(), rest);
    drop(another); // the checkpoint keeps it
    assert_eq!(checkpoint.restore(None).unwrap(), Some(1));
}

#[test]
fn damage_is_told_and_changes_nothing() {
    let folder = Folder::new("damage");
    save(&folder.0);
    let path = folder.0.join("checkpoint-3.safetensors");
    let mut content = fs::read(&path).unwrap();
    *content.last_mut().unwrap() ^= 1;
    fs::write(&path, content).unwrap();
    let strategy = strategy(2);
    let weights = strategy
        .zeros("model/w", f32::dtype(), &[2, 2], mirrored())
        .unwrap();
    let seen = strategy
        .zeros("seen", i64::dtype(), &[], mirrored())
        .unwrap();
    let mut checkpoint = strategy.checkpoint(&folder.0, 0).unwrap();
    checkpoint.add(&weights).unwrap().add(&seen).unwrap();
    let error = checkpoint.restore(Some(3)).unwrap_err();
    assert_eq!(error.status(), Status::DataLoss, "{error}");
    assert_eq!(weights.copy::<f32>(0).unwrap()[..], [0.0; 4]);
}

#[test]
fn nobody_may_hold_a_copy_meanwhile() {
    let folder = Folder::new("held");
    let strategy = strategy(2);
    let weights = strategy.variable("w", &1f32, mirrored()).unwrap();
    let mut checkpoint = strategy.checkpoint(&folder.0, 0).unwrap();
    checkpoint.add(&weights).unwrap();
    let mut held = weights.copy_mut::<f32>(1).unwrap();
    assert_eq!(checkpoint.save(1).unwrap_err().reason(), "borrowed");
    held[0] = 2.0;
    drop(held);
    let read = weights.copy::<f32>(1).unwrap();
    checkpoint.save(1).unwrap();
    assert_eq!(checkpoint.restore(None).unwrap_err().reason(), "borrowed");
    drop(read);
    assert_eq!(checkpoint.restore(None).unwrap(), Some(1));
    assert_eq!(weights.copy::<f32>(1).unwrap()[..], [1.0]);
    checkpoint.clear().unwrap();
    assert_eq!(checkpoint.restore(None).unwrap(), None);
}

#[test]
fn an_announcement_ends_the_program_at_the_next_check() {
    let no_grace = strategy(2);
    assert_eq!(no_grace.check_membership().unwrap(), (Verdict::GoOn, None));
    thread::scope(|scope| drop(scope.spawn(|| no_grace.leave(Duration::ZERO))));
    assert_eq!(
        no_grace.check_membership().unwrap(),
        (Verdict::End, Some(0))
    );
    let grace = strategy(2);
    grace.leave(Duration::from_secs(3600));
    assert_eq!(grace.check_membership().unwrap(), (Verdict::Save, Some(0)));
    assert_eq!(grace.check_membership().unwrap().0, Verdict::GoOn);
}

#[test]
fn health_is_what_ended_all_collectives() {
    let strategy = strategy(2);
    strategy.check_health().unwrap();
    strategy.abort();
    assert_eq!(
        strategy.check_health().unwrap_err().status(),
        Status::Aborted
    );
}
