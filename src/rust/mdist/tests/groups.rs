// SPDX-License-Identifier: Apache-2.0
//! Groups, operators, parts of any lengths, prepared calls, ends of works, and tensors of others.
mod common;

use std::os::raw::c_void;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Duration;

use common::{assert_usable, cause, strategy};
use mdist::{Bool, Op, Operator, Run, SliceMut, Status, StepResult, Value};

fn equal<T: PartialEq + std::fmt::Debug>(left: T, right: T) -> StepResult {
    if left == right {
        Ok(())
    } else {
        Err(format!("{left:?} is not {right:?}").into())
    }
}

/// A function a * x + b. Their composition is associative, but not commutative.
fn composed(left: &[i64; 2], right: &[i64; 2]) -> [i64; 2] {
    [left[0] * right[0], left[1] * right[0] + right[1]]
}

fn of_replica(id: u32) -> [i64; 2] {
    [i64::from(id) + 2, 3 * i64::from(id) + 1]
}

#[test]
fn members_take_part_in_the_order_of_the_list() {
    let strategy = strategy(4);
    let groups = [
        strategy.group(&[2, 0]).unwrap(),
        strategy.group(&[1, 3]).unwrap(),
    ];
    assert_eq!(groups[0].size(), 2);
    assert_eq!(
        (groups[0].position(0), groups[0].position(1)),
        (Some(1), None)
    );
    strategy
        .run(|replica| {
            let own = replica.in_group(&groups[replica.id() as usize % 2]);
            let mut both = [0u32; 2];
            own.all_gather(&replica.id(), &mut both)?;
            equal(
                both,
                if replica.id() % 2 == 0 {
                    [2, 0]
                } else {
                    [1, 3]
                },
            )?;
            let sums = own.all_reduce_start(Op::Sum, vec![1u8])?.wait()?;
            equal(sums, vec![2])?;
            own.with_timeout(Duration::from_secs(60)).barrier()?;
            Ok(replica.barrier()?)
        })
        .unwrap();
}

#[test]
fn who_is_no_member_is_refused_in_words() {
    let strategy = strategy(3);
    let twice = strategy.group(&[1, 1]).map(drop).unwrap_err();
    assert_eq!(twice.status(), Status::InvalidArgument, "{twice}");
    let group = strategy.group(&[0, 1]).unwrap();
    let outside = strategy
        .run(|replica| Ok(replica.in_group(&group).barrier()?))
        .unwrap_err();
    assert!(outside.to_string().contains("group {0, 1}"), "{outside}");
    assert_usable(&strategy);
}

#[test]
fn an_operator_is_applied_in_the_order_of_replicas() {
    let strategy = strategy(5);
    let compose = Operator::new("affine", composed).unwrap();
    let expected = (1..5).fold(of_replica(0), |all, id| composed(&all, &of_replica(id)));
    strategy
        .run(|replica| {
            let own = of_replica(replica.id());
            let (mut all, mut root) = (own, own);
            let work = replica.all_reduce_start(&compose, own.to_vec())?;
            replica.all_reduce(&compose, &mut all)?;
            replica.reduce_to_root(&compose, 3, &mut root)?;
            equal(all, expected)?;
            equal(root, if replica.id() == 3 { expected } else { own })?;
            equal(work.wait()?, expected.to_vec())
        })
        .unwrap();
    let mut all: Vec<_> = (0..5).map(of_replica).collect();
    let mut slices: Vec<_> = all
        .iter_mut()
        .map(|one| SliceMut::new(&mut one[..]))
        .collect();
    strategy.all_reduce(&compose, &mut slices[..]).unwrap();
    drop(slices);
    assert_eq!(all, [expected; 5]);
}

#[test]
fn a_panic_in_an_operator_comes_back_in_words() {
    let strategy = strategy(2);
    let bad = Operator::new("bad", |_: &[f32; 1], _: &[f32; 1]| panic!("no such pair")).unwrap();
    let error = strategy
        .run(|replica| Ok(replica.all_reduce(&bad, &mut 1f32)?))
        .unwrap_err();
    assert_eq!(error.status(), Status::Callback);
    assert!(
        error.to_string().contains("panicked: no such pair"),
        "{error}"
    );
    assert_usable(&strategy);
    let gone = Op::from(&bad);
    drop(bad);
    let error = strategy
        .run(|replica| Ok(replica.all_reduce(gone, &mut 1f32)?))
        .unwrap_err();
    assert_eq!(error.status(), Status::InvalidArgument, "{error}");
    let nameless = Operator::new("", composed).map(drop).unwrap_err();
    assert_eq!(nameless.status(), Status::InvalidArgument, "{nameless}");
}

#[test]
fn parts_of_any_lengths() {
    let strategy = strategy(3);
    strategy
        .run(|replica| {
            let id = u64::from(replica.id());
            let lengths: Vec<u64> = (0..3).map(|to| id + to).collect();
            let given: Vec<u64> = (0..3u64)
                .flat_map(|to| vec![10 * id + to; (id + to) as usize])
                .collect();
            let expected: Vec<u64> = (0..3u64)
                .flat_map(|from| vec![10 * from + id; (id + from) as usize])
                .collect();
            let mut taken = vec![0; expected.len()];
            replica.all_to_all_parts(&given, &lengths, &mut taken, &lengths)?;
            equal(&taken, &expected)?;
            let work = replica.all_to_all_parts_start(given.clone(), &lengths, taken, &lengths)?;
            equal(work.wait()?.1, expected)?;
            let few = replica
                .all_to_all_parts(&given, &[1], &mut vec![0u64; 3], &lengths)
                .unwrap_err();
            equal(few.status(), Status::InvalidArgument)
        })
        .unwrap();
    let error = strategy
        .run(|replica| {
            let more = u64::from(replica.id() == 2);
            let mut taken = vec![0f32; 3 + more as usize];
            Ok(replica.all_to_all_parts(&[0f32; 3], &[1; 3], &mut taken, &[1, 1, 1 + more])?)
        })
        .unwrap_err();
    assert_eq!(error.status(), Status::Mismatch, "{error}");
}

#[test]
fn prepared_calls_give_what_the_collectives_give() {
    let strategy = strategy(2);
    let prepare = |local: u32| -> mdist::Result<_> {
        let own = strategy.prepare(local);
        Ok((
            own.all_reduce(Op::Sum, (vec![local], vec![1.5f64]))?,
            own.all_gather(vec![local], vec![9u32; 2])?,
            own.reduce_scatter(Op::Max, vec![local, 5], vec![0u32])?,
            own.all_to_all(vec![local, 5], vec![0u32; 2])?,
            own.all_to_all_parts(
                vec![local; 3],
                &[1, 2],
                vec![9u32; 2 + 2 * local as usize],
                &[1 + u64::from(local); 2],
            )?,
            own.broadcast(1, vec![local])?,
            (
                own.reduce_to_root(Op::Prod, 1, vec![local + 2])?,
                own.gather_to_root(
                    0,
                    vec![local],
                    if local == 0 { vec![9u32; 2] } else { vec![] },
                )?,
                own.scatter(
                    1,
                    if local == 1 { vec![6u32, 7] } else { vec![] },
                    vec![0u32],
                )?,
                own.barrier()?,
            ),
        ))
    };
    let mut calls = [prepare(0).unwrap(), prepare(1).unwrap()];
    strategy
        .run_each(Run::new(), &mut calls, |replica, calls| {
            let (sum, gather, part, turn, parts, broadcast, (root, gathered, scattered, barrier)) =
                calls;
            let id = replica.id();
            sum.run(replica)?;
            equal(sum.buffer::<u32>(0)?, &[1])?;
            equal(sum.buffer::<f64>(1)?, &[3.0])?;
            sum.buffer_mut::<u32>(0)?[0] = id;
            sum.run(replica)?; // it reads its memory again
            equal(sum.buffer::<u32>(0)?, &[1])?;
            equal(sum.buffer::<f64>(1)?, &[6.0])?;
            gather.run(replica)?;
            equal(gather.buffer::<u32>(1)?, &[0, 1])?;
            part.run(replica)?;
            equal(part.buffer::<u32>(1)?, &[if id == 0 { 1 } else { 5 }])?;
            turn.run(replica)?;
            equal(
                turn.buffer::<u32>(1)?,
                if id == 0 { &[0, 1] } else { &[5, 5] },
            )?;
            parts.run(replica)?;
            equal(
                parts.buffer::<u32>(1)?,
                if id == 0 { &[0, 1] } else { &[0, 0, 1, 1] },
            )?;
            broadcast.run(replica)?;
            equal(broadcast.buffer::<u32>(0)?, &[1])?;
            root.run(replica)?;
            equal(root.buffer::<u32>(0)?, &[if id == 1 { 6 } else { 2 }])?;
            gathered.run(replica)?;
            equal(
                gathered.buffer::<u32>(1)?,
                if id == 0 { &[0, 1][..] } else { &[] },
            )?;
            scattered.run(replica)?;
            equal(scattered.buffer::<u32>(1)?, &[6 + id])?;
            Ok(barrier.run(replica)?)
        })
        .unwrap();
    let wrong = calls[0].0.buffer::<f32>(0).map(drop).unwrap_err();
    assert!(
        wrong.to_string().contains("other elements than float32"),
        "{wrong}"
    );
    let [first, second] = calls;
    let mut started = [Some(first.0), Some(second.0)];
    strategy
        .run_each(Run::new(), &mut started, |replica, call| {
            let work = call.take().expect("a call").start(replica)?;
            *call = Some(work.wait()?);
            Ok(())
        })
        .unwrap();
    let [first, _] = started;
    assert_eq!(first.unwrap().into_buffers(), (vec![2], vec![12.0]));
}

#[test]
fn members_alone_make_the_prepared_calls_of_their_group() {
    let strategy = strategy(3);
    let compose = Operator::new("affine", composed).unwrap();
    let pair = strategy.group(&[2, 0]).unwrap();
    let prepare = |local: u32| -> mdist::Result<_> {
        let own = strategy.prepare(local).in_group(&pair);
        let first = local == 2; // in the group
        Ok((
            own.all_reduce(&compose, of_replica(local).to_vec())?,
            own.with_timeout(Duration::from_secs(60))
                .all_gather(vec![local], vec![9u32; 2])?,
            own.all_to_all_parts(
                vec![local; 3],
                &[1, 2],
                vec![9u32; if first { 2 } else { 4 }],
                &[if first { 1 } else { 2 }; 2],
            )?,
        ))
    };
    let outsider = prepare(1).map(drop).unwrap_err();
    assert!(
        outsider
            .to_string()
            .contains("replica 1 is not a member of"),
        "{outsider}"
    );
    let few = strategy.prepare(0).in_group(&pair);
    let few = few.all_to_all_parts(vec![0u32; 3], &[1; 3], vec![0u32; 3], &[1; 3]);
    assert!(few
        .map(drop)
        .unwrap_err()
        .to_string()
        .contains("pass 2 each"));
    let mut calls = [Some(prepare(0).unwrap()), None, Some(prepare(2).unwrap())];
    drop((pair, compose)); // the calls keep what they need of them
    strategy
        .run_each(Run::new(), &mut calls, |replica, calls| {
            let (product, gather, parts) = match calls {
                Some(calls) => calls,
                None => return Ok(()),
            };
            product.run(replica)?;
            equal(product.buffer::<i64>(0)?, &[8, 15])?; // (4, 7), then (2, 1)
            gather.run(replica)?;
            equal(gather.buffer::<u32>(1)?, &[2, 0])?;
            parts.run(replica)?;
            let expected: &[u32] = if replica.id() == 2 {
                &[2, 0]
            } else {
                &[2, 2, 0, 0]
            };
            equal(parts.buffer::<u32>(1)?, expected)
        })
        .unwrap();
}

#[test]
fn a_prepared_call_of_another_replica_is_refused() {
    let strategy = strategy(2);
    let mut calls = [1, 0].map(|local| strategy.prepare(local).barrier().unwrap());
    let error = strategy
        .run_each(Run::new(), &mut calls, |replica, call| {
            Ok(call.run(replica)?)
        })
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("Create a call for each local replica"),
        "{error}"
    );
}

#[test]
fn a_function_hears_once_that_an_operation_is_over() {
    let strategy = strategy(2);
    let (done, late) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    strategy
        .run(|replica| {
            let (done, late) = (done.clone(), late.clone());
            let work = replica.all_reduce_start(Op::Sum, vec![1i16])?;
            work.on_done(move |end| {
                done.fetch_add(if end.is_ok() { 1 } else { 9 }, Ordering::SeqCst);
            })?;
            work.on_done(|_| panic!("of no effect"))?;
            equal(work.wait()?, vec![2])?;
            let work = replica.barrier_start()?;
            work.on_done(move |_| {
                late.fetch_add(1, Ordering::SeqCst);
            })?;
            work.wait()?;
            Ok(())
        })
        .unwrap();
    assert_eq!(
        (done.load(Ordering::SeqCst), late.load(Ordering::SeqCst)),
        (2, 2)
    );
    assert_eq!(Arc::strong_count(&done), 1); // closures are gone

    let (failed, begun) = (Arc::new(AtomicU32::new(0)), Barrier::new(2));
    let error = strategy
        .run(|replica| {
            if replica.id() == 1 {
                begun.wait();
                return Err("no".into());
            }
            let work = replica.barrier_start()?;
            let failed = failed.clone();
            work.on_done(move |end| {
                failed.fetch_add(
                    if end == Err(Status::Aborted) { 1 } else { 9 },
                    Ordering::SeqCst,
                );
            })?;
            begun.wait();
            Ok(work.wait()?)
        })
        .unwrap_err();
    assert_eq!(cause(&error), "no");
    assert_eq!(failed.load(Ordering::SeqCst), 1);
}

#[test]
fn more_types_and_operations() {
    strategy(2)
        .run(|replica| {
            let first = replica.id() == 0;
            let mut short = [if first { -3i16 } else { 5 }];
            replica.all_reduce(Op::And, &mut short)?;
            equal(short, [-3 & 5])?;
            let mut bits = if first { 0b1100u16 } else { 0b1010 };
            replica.all_reduce(Op::Xor, &mut bits)?;
            equal(bits, 0b0110)?;
            let mut either = Bool::from(first);
            replica.all_reduce(Op::Or, &mut either)?;
            equal(either, Bool(1))
        })
        .unwrap();
}

/// DLPack's struct, as its header has it.
#[repr(C)]
struct Managed {
    data: *mut c_void,
    device: [i32; 2],
    ndim: i32,
    dtype: (u8, u8, u16),
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
    manager_ctx: *mut c_void,
    deleter: *const c_void,
}

#[test]
fn a_tensor_of_another_library_is_reduced_as_it_lies() {
    strategy(2)
        .run(|_replica| {
            let (mut memory, mut shape, mut strides) =
                ([0f32, 1., 2., 3., 4., 5.], [3i64, 2], [1i64, 3]);
            let managed = Managed {
                data: memory.as_mut_ptr().cast(),
                device: [1, 0],
                ndim: 2,
                dtype: (2, 32, 1),
                shape: shape.as_mut_ptr(),
                strides: strides.as_mut_ptr(),
                byte_offset: 0,
                manager_ctx: std::ptr::null_mut(),
                deleter: std::ptr::null(),
            };
            let described =
                || unsafe { SliceMut::from_dlpack((&managed as *const Managed).cast()) };
            _replica.all_reduce(Op::Sum, &mut [described()?])?;
            equal(memory, [0., 2., 4., 6., 8., 10.])?;
            unsafe { managed.strides.add(1).write(4) }; // a gap
            let gap = described().map(drop).unwrap_err();
            equal(gap.reason(), "dlpack_strides")
        })
        .unwrap();
    let value = Value::new(&[1f64, 2.0][..]).unwrap();
    // Safety: values never change.
    let same = unsafe { Value::from_dlpack(value.to_dlpack(0).unwrap()) }.unwrap();
    assert_eq!(
        same.tensor(0).unwrap().as_ptr(),
        value.tensor(0).unwrap().as_ptr()
    );
    let same =
        unsafe { Value::from_dlpack_versioned(value.to_dlpack_versioned(0).unwrap()) }.unwrap();
    assert_eq!(
        same.tensor(0).unwrap().as_slice::<f64>().unwrap(),
        [1.0, 2.0]
    );
}

#[test]
fn messages_go_by_sender_and_tag() {
    let strategy = strategy(3);
    strategy
        .run(|replica| {
            let (right, left) = ((replica.id() + 1) % 3, (replica.id() + 2) % 3);
            let sending = replica.send_start(right, 7, vec![replica.id(); 5000])?;
            let mut taken = vec![9u32; 5000];
            replica.receive(left, 7, &mut taken)?;
            sending.wait()?;
            equal(taken, vec![left; 5000])?;
            replica.send(left, 1, &1.5f32)?;
            replica.send(left, 2, &[2.5f32])?;
            let later = replica.receive_start(right, 2, vec![0f32])?;
            let mut first = 0f32;
            replica.receive(right, 1, &mut first)?;
            equal((first, later.wait()?), (1.5, vec![2.5]))?;
            let two = replica
                .send_start(left, 3, (vec![1u8], vec![2u8]))
                .map(drop);
            equal(two.unwrap_err().status(), Status::InvalidArgument)
        })
        .unwrap();
    let error = strategy
        .run(|replica| match replica.id() {
            0 => Ok(replica.send(1, 5, &[1f32, 2.0])?),
            1 => Ok(replica.receive(0, 5, &mut [0f32; 3])?),
            _ => Ok(()),
        })
        .unwrap_err();
    assert_eq!(error.status(), Status::Mismatch, "{error}");
    assert_usable(&strategy);
    let error = strategy
        .run(|replica| match replica.id() {
            1 => {
                let impatient = replica.with_timeout(Duration::from_millis(10));
                Ok(impatient.receive(0, 5, &mut 0f32)?)
            }
            _ => Ok(()),
        })
        .unwrap_err();
    assert!(error.to_string().contains("tag 5"), "{error}");
}
