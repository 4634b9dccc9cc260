// SPDX-License-Identifier: Apache-2.0
//! What types forbid. No module of these files may compile: each would be a use of memory after its
//! end, or from two threads at once. `check` wants in each the error that stands above its name.
//! There is a file for each pass of the compiler, since no pass begins if one before it found
//! errors.
#![allow(dead_code)]

// E0277
mod a_replica_goes_to_another_thread {
    pub fn share(strategy: &mdist::Strategy) {
        let _ = strategy.run(|replica| {
            std::thread::scope(|scope| {
                scope.spawn(|| replica.barrier());
                Ok(())
            })
        });
    }
}

// E0277
mod an_entered_replica_goes_to_another_thread {
    pub fn send(open: &mdist::OpenRun<'_>) {
        let entered = open.enter(0).unwrap();
        std::thread::scope(|scope| drop(scope.spawn(move || entered.exit(Ok(())))));
    }
}

// E0277
mod a_step_shares_what_is_not_sync {
    pub fn count(strategy: &mdist::Strategy) {
        let counter = std::cell::Cell::new(0);
        let _ = strategy.run(|_| Ok(counter.set(counter.get() + 1)));
    }
}

// E0277
mod a_work_borrows_its_buffers {
    pub fn borrow(replica: &mdist::Replica<'_>, gradients: &mut [f32]) {
        std::mem::forget(replica.all_reduce_start(mdist::Op::Sum, gradients).unwrap());
    }
}

// E0277
mod a_config_is_used_from_two_threads {
    pub fn share(config: &mdist::Config) {
        std::thread::scope(|scope| drop(scope.spawn(|| config.get("devices"))));
    }
}

// E0277
mod an_operator_shares_what_is_not_sync {
    pub fn share() {
        let counter = std::rc::Rc::new(0);
        let _ = mdist::Operator::new("shared", move |left: &[f32; 1], _: &[f32; 1]| {
            [left[0] + *counter as f32]
        });
    }
}
