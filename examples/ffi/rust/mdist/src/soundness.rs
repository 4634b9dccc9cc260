// SPDX-License-Identifier: Apache-2.0
//! What must not compile. Each would be a use of memory after its end, or from two threads at a time.
//!
//! A replica leaves its step:
//! ```compile_fail,E0521
//! fn keep<'a>(strategy: &mdist::Strategy, place: &std::sync::Mutex<Option<&'a mdist::Replica<'a>>>) {
//!     let _ = strategy.run(|replica| Ok(*place.lock().unwrap() = Some(replica)));
//! }
//! ```
//! A replica goes to another thread:
//! ```compile_fail,E0277
//! fn share(strategy: &mdist::Strategy) {
//!     let _ = strategy.run(|replica| std::thread::scope(|scope| {
//!         scope.spawn(|| replica.barrier());
//!         Ok(())
//!     }));
//! }
//! ```
//! So does an entered one:
//! ```compile_fail,E0277
//! fn send(open: &mdist::OpenRun<'_>) {
//!     let entered = open.enter(0).unwrap();
//!     std::thread::scope(|scope| drop(scope.spawn(move || entered.exit(Ok(())))));
//! }
//! ```
//! A run ends while a replica is inside:
//! ```compile_fail,E0505
//! fn end(open: mdist::OpenRun<'_>) {
//!     let entered = open.enter(0).unwrap();
//!     let _ = open.end();
//!     let _ = entered.barrier();
//! }
//! ```
//! A step shares what is not `Sync`:
//! ```compile_fail,E0277
//! fn count(strategy: &mdist::Strategy) {
//!     let counter = std::cell::Cell::new(0);
//!     let _ = strategy.run(|_| Ok(counter.set(counter.get() + 1)));
//! }
//! ```
//! Replicas write one place:
//! ```compile_fail,E0594
//! fn count(strategy: &mdist::Strategy) {
//!     let mut counter = 0;
//!     let _ = strategy.run(|_| Ok(counter += 1));
//! }
//! ```
//! A strategy ends in its run:
//! ```compile_fail,E0507
//! fn end(strategy: mdist::Strategy) {
//!     let _ = strategy.run(|_| Ok(drop(strategy)));
//! }
//! ```
//! Or before a run that was opened:
//! ```compile_fail,E0505
//! fn end(strategy: mdist::Strategy) {
//!     let open = strategy.begin(mdist::Run::new()).unwrap();
//!     drop(strategy);
//!     let _ = open.enter(0);
//! }
//! ```
//! A merge takes the strategy that it is lent:
//! ```compile_fail,E0521
//! fn keep<'a>(replica: &mdist::Replica<'_>, place: &mut Option<&'a mdist::Strategy>) {
//!     let _ = replica.merge_call(&[], 0, |strategy, _| {
//!         *place = Some(strategy);
//!         Ok(Vec::new())
//!     });
//! }
//! ```
//! A merge hands on a value that is lent:
//! ```compile_fail,E0508
//! fn hand_on(replica: &mdist::Replica<'_>) {
//!     let _ = replica.merge_call(&[(&1f32).into()], 1, |_, values| Ok(vec![Some(values[0])]));
//! }
//! ```
//! A tensor outlives its value:
//! ```compile_fail,E0505
//! fn outlive(value: mdist::Value) -> usize {
//!     let tensor = value.tensor(0).unwrap();
//!     drop(value);
//!     tensor.elements()
//! }
//! ```
//! An argument outlives its step:
//! ```compile_fail,E0521
//! fn keep<'a>(strategy: &mdist::Strategy, place: &std::sync::Mutex<Option<mdist::Tensor<'a>>>) {
//!     let _ = strategy.run(|replica| Ok(*place.lock().unwrap() = Some(replica.argument(0)?)));
//! }
//! ```
//! A value ends before the run that has it as its argument:
//! ```compile_fail,E0505
//! fn end(strategy: &mdist::Strategy, value: mdist::Value) {
//!     let values = [value];
//!     let open = strategy.begin(mdist::Run::new().arguments(&values)).unwrap();
//!     drop(values);
//!     let _ = open.enter(0);
//! }
//! ```
//! A variable ends while somebody holds a copy:
//! ```compile_fail,E0505
//! fn end(variable: mdist::Variable) -> f32 {
//!     let copy = variable.copy::<f32>(0).unwrap();
//!     drop(variable);
//!     copy[0]
//! }
//! ```
//! A work's buffers are touched before it is done:
//! ```compile_fail,E0382
//! fn touch(replica: &mdist::Replica<'_>, mut gradients: Vec<f32>) {
//!     let work = replica.all_reduce_start(mdist::Op::Sum, gradients).unwrap();
//!     gradients[0] = 1.0;
//!     let _ = work.wait();
//! }
//! ```
//! A work borrows its buffers, which leaking it would end too early:
//! ```compile_fail,E0277
//! fn borrow(replica: &mdist::Replica<'_>, gradients: &mut [f32]) {
//!     std::mem::forget(replica.all_reduce_start(mdist::Op::Sum, gradients).unwrap());
//! }
//! ```
//! A work outlives the replica that started it:
//! ```compile_fail,E0505
//! fn outlive(entered: mdist::Entered<'_>) {
//!     let work = entered.barrier_start().unwrap();
//!     let _ = entered.exit(Ok(()));
//!     let _ = work.wait();
//! }
//! ```
//! One slice is twice in one operation:
//! ```compile_fail,E0499
//! fn twice(replica: &mdist::Replica<'_>, x: &mut [f32]) {
//!     let mut buffers = [mdist::SliceMut::new(x), mdist::SliceMut::new(x)];
//!     let _ = replica.all_reduce(mdist::Op::Sum, &mut buffers);
//! }
//! ```
//! A config is used from two threads:
//! ```compile_fail,E0277
//! fn share(config: &mdist::Config) {
//!     std::thread::scope(|scope| drop(scope.spawn(|| config.get("devices"))));
//! }
//! ```
//! A map, which runs on threads of iterators, borrows:
//! ```compile_fail,E0597
//! fn borrow(rows: &mdist::Dataset) -> mdist::Result<mdist::Dataset> {
//!     let factor = 2.0f32;
//!     let factor = &factor;
//!     rows.map(&[], move |_, _| Ok(drop(*factor)))
//! }
//! ```
//! An element type of one's own:
//! ```compile_fail,E0277
//! #[derive(Clone, Copy, Default)]
//! struct Own(f32);
//! impl mdist::Element for Own {}
//! ```
