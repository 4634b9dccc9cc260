// SPDX-License-Identifier: Apache-2.0
//! What borrowing and `unsafe` forbid; see types.rs.
#![allow(dead_code)]

// E0521
mod a_replica_leaves_its_step {
    pub fn keep<'a>(open: &'a mdist::OpenRun<'_>, place: &mut Option<&'a mdist::Replica<'a>>) {
        let _ = open.step(0, |replica| Ok(*place = Some(replica)));
    }
}

// E0505
mod a_run_ends_while_a_replica_is_inside {
    pub fn end(open: mdist::OpenRun<'_>) {
        let entered = open.enter(0).unwrap();
        let _ = open.end();
        let _ = entered.barrier();
    }
}

// E0594
mod replicas_write_one_place {
    pub fn count(strategy: &mdist::Strategy) {
        let mut counter = 0;
        let _ = strategy.run(|_| Ok(counter += 1));
    }
}

// E0507
mod a_strategy_ends_in_its_run {
    pub fn end(strategy: mdist::Strategy) {
        let _ = strategy.run(|_| Ok(drop(strategy)));
    }
}

// E0505
mod a_strategy_ends_before_a_run_that_was_opened {
    pub fn end(strategy: mdist::Strategy) {
        let open = strategy.begin(mdist::Run::new()).unwrap();
        drop(strategy);
        let _ = open.enter(0);
    }
}

// E0521
mod a_merge_takes_the_strategy_that_it_is_lent {
    pub fn keep<'a>(replica: &mdist::Replica<'_>, place: &mut Option<&'a mdist::Strategy>) {
        let _ = replica.merge_call(&[], 0, |strategy, _| {
            *place = Some(strategy);
            Ok(Vec::new())
        });
    }
}

// E0508
mod a_merge_hands_on_a_value_that_is_lent {
    pub fn hand_on(replica: &mdist::Replica<'_>) {
        let _ = replica.merge_call(&[(&1f32).into()], 1, |_, values| Ok(vec![Some(values[0])]));
    }
}

// E0505
mod a_tensor_outlives_its_value {
    pub fn outlive(value: mdist::Value) -> usize {
        let tensor = value.tensor(0).unwrap();
        drop(value);
        tensor.elements()
    }
}

// E0521
mod an_argument_outlives_its_step {
    pub fn keep<'a>(
        strategy: &mdist::Strategy,
        place: &std::sync::Mutex<Option<mdist::Tensor<'a>>>,
    ) {
        let _ = strategy.run(|replica| Ok(*place.lock().unwrap() = Some(replica.argument(0)?)));
    }
}

// E0505
mod a_value_ends_before_the_run_it_is_an_argument_of {
    pub fn end(strategy: &mdist::Strategy, value: mdist::Value) {
        let values = [value];
        let open = strategy
            .begin(mdist::Run::new().arguments(&values))
            .unwrap();
        drop(values);
        let _ = open.enter(0);
    }
}

// E0505
mod a_variable_ends_while_a_copy_is_held {
    pub fn end(variable: mdist::Variable) -> f32 {
        let copy = variable.copy::<f32>(0).unwrap();
        drop(variable);
        copy[0]
    }
}

// E0505
mod a_tensor_outlives_the_guard_of_its_copy {
    pub fn keep(copy: mdist::TensorRefMut<'_>) -> usize {
        let tensor = copy.tensor();
        drop(copy);
        tensor.elements()
    }
}

// E0502
mod a_copy_is_written_while_it_is_read {
    pub fn both(copy: &mut mdist::TensorRefMut<'_>) {
        let tensor = copy.tensor();
        let _ = mdist::copy_tensor(copy.tensor_mut(), tensor);
    }
}

// E0133
mod a_stream_is_lent_without_a_word {
    pub fn lend(replica: &mdist::Replica<'_>, stream: *mut std::ffi::c_void) {
        let _ = replica.use_stream(stream);
    }
}

// E0382
mod a_works_buffers_are_touched_before_it_is_done {
    pub fn touch(replica: &mdist::Replica<'_>, mut gradients: Vec<f32>) {
        let work = replica.all_reduce_start(mdist::Op::Sum, gradients).unwrap();
        gradients[0] = 1.0;
        let _ = work.wait();
    }
}

// E0505
mod a_work_outlives_the_replica_that_started_it {
    pub fn outlive(entered: mdist::Entered<'_>) {
        let work = entered.barrier_start().unwrap();
        let _ = entered.exit(Ok(()));
        let _ = work.wait();
    }
}

// E0499
mod one_slice_is_twice_in_one_operation {
    pub fn twice(replica: &mdist::Replica<'_>, x: &mut [f32]) {
        let mut buffers = [mdist::SliceMut::new(x), mdist::SliceMut::new(x)];
        let _ = replica.all_reduce(mdist::Op::Sum, &mut buffers);
    }
}

// E0597
mod a_map_borrows {
    pub fn borrow(rows: &mdist::Dataset) -> mdist::Result<mdist::Dataset> {
        let factor = 2.0f32;
        let factor = &factor;
        rows.map(&[], move |_, _| Ok(drop(*factor)))
    }
}

// E0505
mod a_group_ends_before_its_member {
    pub fn leave(replica: &mdist::Replica<'_>, group: mdist::Group) {
        let member = replica.in_group(&group);
        drop(group);
        let _ = member.barrier();
    }
}

// E0373
mod the_end_of_a_work_is_heard_by_what_has_ended {
    pub fn hear(replica: &mdist::Replica<'_>) {
        let mut heard = 0;
        let work = replica.barrier_start().unwrap();
        let _ = work.on_done(|_| heard += 1);
    }
}

// E0502
mod a_prepared_call_writes_what_is_read {
    pub fn write(replica: &mdist::Replica<'_>, call: &mut mdist::Prepared<Vec<f32>>) {
        let read = call.buffer::<f32>(0).unwrap();
        let _ = call.run(replica);
        assert_eq!(read[0], 1.0);
    }
}

// E0502
mod a_job_regroups_while_a_run_is_open {
    pub fn regroup(mut strategy: mdist::Strategy) {
        let open = strategy.begin(mdist::Run::new()).unwrap();
        let _ = strategy.regroup();
        let _ = open.enter(0);
    }
}
