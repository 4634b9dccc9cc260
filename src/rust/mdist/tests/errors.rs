// SPDX-License-Identifier: Apache-2.0
//! What goes wrong comes back whole: the library's sentence, and the closure's own error or panic.
mod common;

use std::error::Error as _;
use std::fmt;

use common::{assert_usable, cause, strategy};
use mdist::{Assign, Config, Dataset, Error, Op, Panic, Status, Value, VariableOptions};

#[test]
fn the_librarys_sentence_with_status_reason_and_operation() {
    let mut config = Config::new().unwrap();
    let error = config.set("devises", "cpu*2").map(drop).unwrap_err();
    assert_eq!(
        (error.status(), error.reason()),
        (Status::Config, "unknown_key")
    );
    assert_eq!(
        (error.operation(), error.replica(), error.native()),
        ("mdist_config_set", None, 0)
    );
    assert_eq!(error.rank(), None);
    assert!(
        error.to_string().contains("devises") && error.to_string().contains("devices"),
        "{error}"
    );
    assert!(error.source().is_none());

    let strategy = strategy(2);
    let variable = strategy
        .variable("w", &1f32, VariableOptions::default())
        .unwrap();
    let error = variable
        .assign(Assign::Set, &Value::new(&1f64).unwrap())
        .unwrap_err();
    assert_eq!(
        (error.status(), error.operation()),
        (Status::InvalidArgument, "mdist_variable_assign")
    );
    assert!(
        error.to_string().contains("float64") && error.to_string().contains("float32"),
        "{error}"
    );
    assert_eq!(error.status().name(), "MDIST_ERR_INVALID_ARGUMENT");
}

#[derive(Debug, PartialEq)]
struct OwnError(u32);
impl fmt::Display for OwnError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "own error {}", self.0)
    }
}
impl std::error::Error for OwnError {}

#[test]
fn a_failing_step_comes_back_as_itself() {
    // Replica 0 runs on this thread, 1 and 2 on threads of the library.
    for guilty in 0..3 {
        let strategy = strategy(3);
        let error = strategy
            .run(|replica| match replica.id() {
                id if id == guilty => Err(OwnError(id).into()),
                _ => Ok(replica.barrier()?),
            })
            .unwrap_err();
        assert_eq!(
            (error.status(), error.replica()),
            (Status::Callback, Some(guilty)),
            "{error}"
        );
        assert_eq!(
            error.source().unwrap().downcast_ref(),
            Some(&OwnError(guilty))
        );
        assert_usable(&strategy);
    }
}

#[test]
fn a_panic_comes_back_with_its_message() {
    for guilty in 0..3 {
        let strategy = strategy(3);
        let error = strategy
            .run(|replica| match replica.id() {
                id if id == guilty => panic!("replica {id} is out of paper"),
                _ => Ok(replica.all_reduce(Op::Sum, &mut 1f32)?),
            })
            .unwrap_err();
        let panic: &Panic = error.source().unwrap().downcast_ref().unwrap();
        assert_eq!(panic.message(), format!("replica {guilty} is out of paper"));
        assert_eq!(error.replica(), Some(guilty));
        assert_usable(&strategy);
    }
}

struct Worse;
impl Drop for Worse {
    fn drop(&mut self) {
        panic!("in drop, too");
    }
}

#[test]
fn a_panic_with_a_payload_that_panics_in_its_turn() {
    let strategy = strategy(2);
    let error = strategy.run(|_| std::panic::panic_any(Worse)).unwrap_err();
    assert_eq!(cause(&error), "panicked: a value that is no text");
    assert_usable(&strategy);
}

/// For other workers, whose errors have no cause of their own.
#[test]
fn the_library_is_told_what_an_error_says() {
    struct Mute;
    impl fmt::Debug for Mute {
        fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
            out.write_str("Mute")
        }
    }
    impl fmt::Display for Mute {
        fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
            panic!("it says nothing")
        }
    }
    impl std::error::Error for Mute {}

    let strategy = strategy(1);
    let says = |error: Error| {
        let number = format!("the step of replica 0 returned {}", error.native());
        error.to_string().strip_prefix(&number).map(str::to_string)
    };
    let error = strategy.run(|_| Err("no\0 luck".into())).unwrap_err();
    assert_eq!(says(error).as_deref(), Some(": no"));
    let error = strategy.run(|_| panic!("at batch 41")).unwrap_err();
    assert_eq!(says(error).as_deref(), Some(": panicked: at batch 41"));
    let error = strategy.run(|_| Err(Mute.into())).unwrap_err();
    assert_eq!(says(error).as_deref(), Some(""));

    let run = strategy.begin(mdist::Run::new()).unwrap();
    run.step(0, |_| Err("on a thread of its own".into()))
        .unwrap();
    let error = run.end().unwrap_err();
    assert_eq!(says(error).as_deref(), Some(": on a thread of its own"));
}

#[test]
fn the_first_cause_wins() {
    // Replica 1 fails because replica 0 has; only replica 0's error is the cause, whichever returns
    // first.
    let strategy = strategy(2);
    for _ in 0..200 {
        let error = strategy
            .run(|replica| {
                if replica.id() == 0 {
                    return Err("first".into());
                }
                replica
                    .barrier()
                    .map_err(|error| format!("second, after {error}").into())
            })
            .unwrap_err();
        assert_eq!(
            (cause(&error).as_str(), error.replica()),
            ("first", Some(0))
        );
    }
}

#[test]
fn a_collective_that_fails_is_the_cause_itself() {
    let error = strategy(2)
        .run(|replica| {
            let answer = replica.all_reduce(Op::Mean, &mut 1i32);
            answer.map_err(|error| format!("wrapped: {error}").into())
        })
        .unwrap_err();
    assert_eq!(
        (error.status(), error.operation()),
        (Status::InvalidArgument, "mdist_all_reduce"),
        "{error}"
    );
}

#[test]
fn wrong_context_says_what_to_call() {
    let strategy = strategy(2);
    let error = strategy.run(|_| Ok(strategy.run(|_| Ok(()))?)).unwrap_err();
    let inner: &Error = error
        .source()
        .map_or(&error, |source| source.downcast_ref().unwrap());
    assert_eq!(inner.status(), Status::WrongContext, "{error}");
    assert!(inner.to_string().contains("merge"), "{inner}");
    assert_usable(&strategy);
}

#[test]
fn aborted_from_another_thread() {
    let strategy = strategy(2);
    let error = std::thread::scope(|scope| {
        scope.spawn(|| strategy.abort());
        strategy.run(|replica| loop {
            replica.barrier()?;
        })
    });
    assert_eq!(error.unwrap_err().status(), Status::Aborted);
}

#[test]
fn text_with_a_nul_is_refused() {
    let error = Config::new()
        .unwrap()
        .set("devices", "cpu\0*2")
        .map(drop)
        .unwrap_err();
    assert_eq!(error.status(), Status::InvalidArgument);
    assert!(error.to_string().contains("NUL at byte 3"), "{error}");
}

#[test]
fn a_dataset_of_nothing_is_refused() {
    let error = Dataset::from_arrays(Vec::new()).map(drop).unwrap_err();
    assert_eq!(
        (error.status(), error.operation()),
        (Status::InvalidArgument, "mdist_dataset_from_tensors")
    );
}
