// SPDX-License-Identifier: Apache-2.0
//! Sources and transforms of datasets.
mod common;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use common::cause;
use mdist::{
    Array, Compression, Dataset, Element, Output, ReadOptions, RecordWriter, Status, TensorMut,
    UNKNOWN_LENGTH,
};

/// A component of every element.
fn all<T: Element>(dataset: &Dataset, component: usize) -> Vec<Vec<T>> {
    let elements = dataset
        .iter()
        .unwrap()
        .map(|element| element.unwrap().remove(component));
    elements
        .map(|value| value.tensor(0).unwrap().as_slice::<T>().unwrap().to_vec())
        .collect()
}

fn numbers(dataset: &Dataset) -> Vec<i64> {
    all(dataset, 0).concat()
}

fn texts(dataset: &Dataset) -> Vec<String> {
    all(dataset, 0)
        .into_iter()
        .map(|bytes| String::from_utf8(bytes).unwrap())
        .collect()
}

#[test]
fn datasets_are_chosen_joined_and_cut() {
    let five = Dataset::range(0, 5, 1).unwrap();
    assert_eq!(numbers(&Dataset::range(5, -2, -3).unwrap()), [5, 2, -1]);
    assert_eq!(numbers(&five.take(2).unwrap()), [0, 1]);
    assert_eq!(numbers(&five.skip(3).unwrap()), [3, 4]);
    let odd = five
        .filter(|inputs| Ok(inputs[0].as_slice::<i64>()?[0] % 2 == 1))
        .unwrap();
    assert_eq!(numbers(&odd), [1, 3]);
    assert_eq!(
        numbers(&odd.concatenate(&five.take(1).unwrap()).unwrap()),
        [1, 3, 0]
    );
    assert_eq!(
        all::<i64>(&Dataset::zip(&[&odd, &five]).unwrap(), 1).concat(),
        [0, 1]
    );
    let same = five
        .batch(3, false)
        .unwrap()
        .unbatch()
        .unwrap()
        .cache()
        .unwrap();
    assert_eq!(numbers(&same), [0, 1, 2, 3, 4]);
    let ragged = five
        .batch(5, false)
        .unwrap()
        .rebatch(&[1, 4], false)
        .unwrap();
    assert_eq!(all::<i64>(&ragged, 0), [vec![0], vec![1, 2, 3, 4]]);
    assert_eq!(
        numbers(&ragged.padded_batch(2, false).unwrap()),
        [0, 0, 0, 0, 1, 2, 3, 4]
    );
    let padding = [(Array::new(vec![-1i64], &[]).unwrap(), vec![UNKNOWN_LENGTH])];
    assert_eq!(
        numbers(&ragged.padded_batch_to(2, false, &padding).unwrap()),
        [0, -1, -1, -1, 1, 2, 3, 4]
    );
    let wide = [(Array::new(vec![0i64; 2], &[2]).unwrap(), vec![4])];
    assert_eq!(
        ragged
            .padded_batch_to(2, false, &wide)
            .map(drop)
            .unwrap_err()
            .status(),
        Status::InvalidArgument
    );
}

#[test]
fn errors_in_joined_datasets_come_back() {
    let five = Dataset::range(0, 5, 1).unwrap();
    let bad = five.filter(|_| Err("bad row".into())).unwrap();
    let panicking = five.filter(|_| panic!("bad row")).unwrap();
    for (dataset, said) in [
        (bad.concatenate(&five).unwrap(), "bad row"),
        (
            Dataset::zip(&[&five, &panicking]).unwrap(),
            "panicked: bad row",
        ),
    ] {
        let error = dataset
            .iter()
            .unwrap()
            .next()
            .unwrap()
            .map(drop)
            .unwrap_err();
        assert_eq!(
            (error.status(), cause(&error).as_str()),
            (Status::Callback, said)
        );
    }
}

#[test]
fn a_generator_begins_anew_in_every_epoch_and_is_let_go() {
    let alive = Arc::new(());
    let count_to = |end: i64| {
        let alive = alive.clone();
        Dataset::from_generator(&[Output::new::<i64>(&[])], move || {
            let (alive, mut next) = (alive.clone(), 0);
            Ok(move |outputs: &mut [TensorMut<'_>]| {
                let _kept = &alive;
                if next == 3 {
                    return Err("three is too much".into());
                }
                outputs[0].as_mut_slice::<i64>()?[0] = next;
                next += 1;
                Ok(next <= end)
            })
        })
        .unwrap()
    };
    assert_eq!(numbers(&count_to(2).repeat(2).unwrap()), [0, 1, 0, 1]);
    let error = count_to(9)
        .iter()
        .unwrap()
        .last()
        .unwrap()
        .map(drop)
        .unwrap_err();
    assert_eq!(cause(&error), "three is too much");
    assert_eq!(Arc::strong_count(&alive), 1);
    assert_eq!(numbers(&count_to(2).prefetch(1).unwrap()), [0, 1]);
}

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

#[test]
fn files_are_matched_read_and_written() {
    let folder = Folder(std::env::temp_dir().join(format!("mdist-rust-{}", std::process::id())));
    fs::create_dir(&folder.0).unwrap();
    let path = |name: &str| folder.0.join(name);
    for (name, text) in [
        ("part-0.txt", "a\nbc\r\n"),
        ("part-1.txt", "d"),
        ("fixed", "HHabcdefF"),
    ] {
        fs::write(path(name), text).unwrap();
    }
    let options = ReadOptions::default();
    let names = Dataset::match_files(&[path("part-?.txt")]).unwrap();
    assert_eq!(texts(&names.text_lines(options).unwrap()), ["a", "bc", "d"]);
    let turns = options.cycle_length(2);
    assert_eq!(texts(&names.text_lines(turns).unwrap()), ["a", "d", "bc"]);
    let fixed = Dataset::files(&[path("fixed")])
        .unwrap()
        .fixed_records(3, 2, 1, options)
        .unwrap();
    assert_eq!(texts(&fixed), ["abc", "def"]);
    let none = Dataset::match_files(&[path("none-*")])
        .map(drop)
        .unwrap_err();
    assert_eq!(none.status(), Status::NotFound);
    assert_eq!(
        Dataset::files(&["a\0b"]).map(drop).unwrap_err().status(),
        Status::InvalidArgument
    );

    let mut writer = RecordWriter::new(path("records"), Compression::Gzip).unwrap();
    writer.write(b"first").unwrap();
    writer.write(b"").unwrap();
    assert!(!path("records").exists());
    writer.close().unwrap();
    let files = Dataset::files(&[path("records")]).unwrap();
    let zipped = options.compression(Compression::Gzip);
    assert_eq!(texts(&files.tfrecords(zipped).unwrap()), ["first", ""]);
    let error = files
        .tfrecords(options)
        .unwrap()
        .iter()
        .unwrap()
        .next()
        .unwrap()
        .map(drop)
        .unwrap_err();
    assert_eq!(
        (error.status(), error.reason()),
        (Status::DataLoss, "corrupt")
    );
    let skipping = options.skip_corrupt(true);
    let mut iterator = files.tfrecords(skipping).unwrap().iter().unwrap();
    assert!(iterator.next().is_none());
    assert_eq!(iterator.skipped().unwrap(), 1);
    drop(RecordWriter::new(path("unfinished"), Compression::None).unwrap());
    assert!(!path("unfinished").exists());
}
