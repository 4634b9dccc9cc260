// SPDX-License-Identifier: Apache-2.0
//! Gradients. The training is that of tests/ffi/gradients.c, and ends in the same bits.
mod common;

use std::fmt::Write;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use common::{assert_usable, strategy};
use mdist::{
    GradientsOptions, Like, Op, ReplicaGradients, Run, Status, StepResult, VariableOptions,
};

const POINTS: usize = 4;
const ROUNDS: usize = 2;
const WEIGHTS: usize = 5;

fn input(id: u32, round: usize, point: usize, weight: usize) -> f64 {
    let number = ((id as usize * ROUNDS + round) * POINTS + point) as f64;
    (number - 11.5) / 8.0 + ((weight * 7 + point * 3) % 5) as f64 * 0.25
}

fn compute(
    gradients: &mut ReplicaGradients<'_>,
    id: u32,
    parameters: &[f64],
    round: usize,
) -> StepResult {
    let mut error = [0.0; POINTS];
    for (i, error) in error.iter_mut().enumerate() {
        let (mut found, mut wanted) = (parameters[WEIGHTS], 3.0);
        for (j, parameter) in parameters[..WEIGHTS].iter().enumerate() {
            found += parameter * input(id, round, i, j);
            wanted += (0.5 - 0.125 * j as f64) * input(id, round, i, j);
        }
        *error = found - wanted;
    }
    let b = &mut gradients.as_mut_slice::<f64>(1)?[0];
    *b = 0.0;
    for one in &error {
        *b += one / POINTS as f64;
    }
    gradients.ready(1)?;
    for (j, a) in gradients.as_mut_slice::<f64>(0)?.iter_mut().enumerate() {
        *a = 0.0;
        for (i, one) in error.iter().enumerate() {
            *a += one * input(id, round, i, j) / POINTS as f64;
        }
    }
    gradients.ready(0)?;
    Ok(())
}

fn trained() -> String {
    let strategy = strategy(2);
    let options = GradientsOptions::default()
        .op(Op::Mean)
        .bucket_bytes(8)
        .clip_norm(1.0);
    let gradients = strategy
        .gradients(
            &[Like::new::<f64>(&[WEIGHTS]), Like::new::<f64>(&[])],
            options,
        )
        .unwrap();
    let mut states = [([0.0; WEIGHTS + 1], 0.0); 2];
    let mut output = String::new();
    for _ in 0..25 {
        strategy
            .run_each(Run::new(), &mut states, |replica, (parameters, norm)| {
                let mut own = replica.gradients(&gradients)?;
                for round in 0..ROUNDS {
                    if round + 1 < ROUNDS {
                        own.accumulate()?;
                    }
                    compute(&mut own, replica.id(), parameters, round)?;
                    let reduced = own.wait()?;
                    assert!(reduced.finite);
                    *norm = reduced.norm;
                }
                for (parameter, a) in parameters.iter_mut().zip(own.as_slice::<f64>(0)?) {
                    *parameter -= 0.25 * a;
                }
                parameters[WEIGHTS] -= 0.25 * own.as_slice::<f64>(1)?[0];
                Ok(())
            })
            .unwrap();
        writeln!(output, "norm {:016x}", states[0].1.to_bits()).unwrap();
        assert!(states[0] == states[1]);
    }
    for parameter in states[0].0 {
        writeln!(output, "parameter {:016x}", parameter.to_bits()).unwrap();
    }
    output
}

#[test]
fn training_ends_in_the_bits_of_the_c_program() {
    let program = std::env::var_os("FFI_GRADIENTS")
        .expect("FFI_GRADIENTS must name the program of tests/ffi/gradients.c");
    let expected = Command::new(program).output().unwrap();
    assert!(expected.status.success(), "{expected:?}");
    assert_eq!(trained(), String::from_utf8(expected.stdout).unwrap());
}

#[test]
fn gradients_are_named_after_variables_and_missing_ones_are_refused() {
    let strategy = strategy(2);
    let weights = strategy
        .variable("weights", &[1f32, 2.0][..], VariableOptions::default())
        .unwrap();
    let bias = strategy
        .variable("bias", &0f32, VariableOptions::default())
        .unwrap();
    let like = [Like::from(&weights), Like::from(&bias)];
    for zero_missing in [false, true] {
        let options = GradientsOptions::default().zero_missing(zero_missing);
        let gradients = strategy.gradients(&like, options).unwrap();
        let done = strategy.run(|replica| {
            let mut own = replica.gradients(&gradients)?;
            own.as_mut_slice::<f32>(0)?.fill(1.0);
            own.as_mut_slice::<f32>(1)?.fill(5.0);
            own.ready(0)?;
            own.wait()?;
            assert_eq!(
                (own.as_slice::<f32>(0)?, own.as_slice::<f32>(1)?),
                (&[2.0, 2.0][..], &[0.0][..])
            );
            Ok(())
        });
        match done {
            Ok(()) => assert!(zero_missing),
            Err(error) => {
                assert!(!zero_missing, "{error}");
                assert_eq!(error.reason(), "gradients_missing");
                assert!(error.to_string().contains("bias"), "{error}");
            }
        }
        assert_usable(&strategy);
    }
}

#[test]
fn what_is_ready_belongs_to_the_library_until_the_wait() {
    let strategy = strategy(2);
    let gradients = strategy
        .gradients(
            &[Like::new::<f32>(&[2]), Like::new::<f32>(&[])],
            GradientsOptions::default(),
        )
        .unwrap();
    strategy
        .run(|replica| {
            let mut own = replica.gradients(&gradients)?;
            let second = replica.gradients(&gradients).map(drop).unwrap_err();
            assert_eq!(
                (second.status(), second.reason()),
                (Status::FailedPrecondition, "borrowed")
            );
            own.ready(0)?;
            assert_eq!(own.as_slice::<f32>(0).unwrap_err().reason(), "borrowed");
            assert_eq!(own.as_mut_slice::<f32>(0).unwrap_err().reason(), "borrowed");
            assert_eq!(
                own.tensor_mut(0).map(drop).unwrap_err().reason(),
                "borrowed"
            );
            assert_eq!(own.as_mut_slice::<f32>(1)?.len(), 1);
            assert_eq!(
                own.as_slice::<f64>(1).unwrap_err().status(),
                Status::InvalidArgument
            );
            assert_eq!(
                own.as_slice::<f32>(2).unwrap_err().status(),
                Status::InvalidArgument
            );
            drop(own);
            let mut own = replica.gradients(&gradients)?; // goes on with the round
            assert_eq!(own.as_slice::<f32>(0).unwrap_err().reason(), "borrowed");
            own.ready(1)?;
            own.wait()?;
            assert_eq!(own.as_slice::<f32>(0)?, [0.0, 0.0]);
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_run_that_ends_within_a_round_fails_and_the_next_one_begins_anew() {
    let strategy = strategy(2);
    let gradients = strategy
        .gradients(&[Like::new::<f32>(&[3])], GradientsOptions::default())
        .unwrap();
    for step in 0..3 {
        let done = strategy.run(|replica| {
            let mut own = replica.gradients(&gradients)?;
            own.as_mut_slice::<f32>(0)?.fill(1.0);
            own.ready(0)?;
            if step == 1 {
                return Ok(());
            }
            let reduced = own.wait()?;
            assert_eq!((reduced.norm, reduced.finite), (12f64.sqrt(), true));
            assert_eq!(own.as_slice::<f32>(0)?, [2.0; 3]);
            Ok(())
        });
        match done {
            Ok(()) => assert_ne!(step, 1),
            Err(error) => assert_eq!((step, error.reason()), (1, "work_under_way"), "{error}"),
        }
    }
}

#[test]
fn a_round_ends_by_asking_in_a_loop() {
    let strategy = strategy(2);
    let options = GradientsOptions::default().zero_missing(true);
    let gradients = strategy
        .gradients(&[Like::new::<f32>(&[3]), Like::new::<f32>(&[])], options)
        .unwrap();
    let asked = AtomicBool::new(false);
    strategy
        .run(|replica| {
            let mut own = replica.gradients(&gradients)?;
            own.as_mut_slice::<f32>(0)?.fill(1.0);
            if replica.id() == 0 {
                own.ready(0)?;
                let early = own.test();
                asked.store(true, Ordering::SeqCst);
                assert_eq!(early?, None);
                // The library may write a missing one, too.
                assert_eq!(own.as_slice::<f32>(1).unwrap_err().reason(), "borrowed");
            } else {
                while !asked.load(Ordering::SeqCst) {
                    std::thread::yield_now();
                }
                own.ready(0)?;
            }
            let reduced = loop {
                if let Some(reduced) = own.test()? {
                    break reduced;
                }
            };
            assert_eq!((reduced.norm, reduced.finite), (12f64.sqrt(), true));
            assert_eq!(own.as_slice::<f32>(0)?, [2.0; 3]);
            assert_eq!(own.as_slice::<f32>(1)?, [0.0]);
            Ok(())
        })
        .unwrap();
}

#[test]
fn what_is_not_finite_is_told_on_every_replica() {
    let strategy = strategy(2);
    let options = GradientsOptions::default().zero_nonfinite(true);
    let gradients = strategy
        .gradients(&[Like::new::<f32>(&[2])], options)
        .unwrap();
    strategy
        .run(|replica| {
            let mut own = replica.gradients(&gradients)?;
            own.as_mut_slice::<f32>(0)?.fill(if replica.id() == 0 {
                f32::INFINITY
            } else {
                1.0
            });
            own.ready(0)?;
            let reduced = own.wait()?;
            assert!(!reduced.finite && !reduced.norm.is_finite());
            assert_eq!(own.as_slice::<f32>(0)?, [0.0, 0.0]);
            Ok(())
        })
        .unwrap();
}
