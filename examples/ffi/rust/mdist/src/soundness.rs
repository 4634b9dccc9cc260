// SPDX-License-Identifier: Apache-2.0
//! What must not compile. Each would be a use of memory after its end, or from two threads at once.

/// ```compile_fail,E0521
/// fn keep<'a>(open: &'a mdist::OpenRun<'_>, place: &mut Option<&'a mdist::Replica<'a>>) {
///     let _ = open.step(0, |replica| Ok(*place = Some(replica)));
/// }
/// ```
fn a_replica_leaves_its_step() {}

/// ```compile_fail,E0277
/// fn share(strategy: &mdist::Strategy) {
///     let _ = strategy.run(|replica| std::thread::scope(|scope| {
///         scope.spawn(|| replica.barrier());
///         Ok(())
///     }));
/// }
/// ```
fn a_replica_goes_to_another_thread() {}

/// ```compile_fail,E0277
/// fn send(open: &mdist::OpenRun<'_>) {
///     let entered = open.enter(0).unwrap();
///     std::thread::scope(|scope| drop(scope.spawn(move || entered.exit(Ok(())))));
/// }
/// ```
fn an_entered_replica_goes_to_another_thread() {}

/// ```compile_fail,E0505
/// fn end(open: mdist::OpenRun<'_>) {
///     let entered = open.enter(0).unwrap();
///     let _ = open.end();
///     let _ = entered.barrier();
/// }
/// ```
fn a_run_ends_while_a_replica_is_inside() {}

/// ```compile_fail,E0277
/// fn count(strategy: &mdist::Strategy) {
///     let counter = std::cell::Cell::new(0);
///     let _ = strategy.run(|_| Ok(counter.set(counter.get() + 1)));
/// }
/// ```
fn a_step_shares_what_is_not_sync() {}

/// ```compile_fail,E0594
/// fn count(strategy: &mdist::Strategy) {
///     let mut counter = 0;
///     let _ = strategy.run(|_| Ok(counter += 1));
/// }
/// ```
fn replicas_write_one_place() {}

/// ```compile_fail,E0507
/// fn end(strategy: mdist::Strategy) {
///     let _ = strategy.run(|_| Ok(drop(strategy)));
/// }
/// ```
fn a_strategy_ends_in_its_run() {}

/// ```compile_fail,E0505
/// fn end(strategy: mdist::Strategy) {
///     let open = strategy.begin(mdist::Run::new()).unwrap();
///     drop(strategy);
///     let _ = open.enter(0);
/// }
/// ```
fn a_strategy_ends_before_a_run_that_was_opened() {}

/// ```compile_fail,E0521
/// fn keep<'a>(replica: &mdist::Replica<'_>, place: &mut Option<&'a mdist::Strategy>) {
///     let _ = replica.merge_call(&[], 0, |strategy, _| {
///         *place = Some(strategy);
///         Ok(Vec::new())
///     });
/// }
/// ```
fn a_merge_takes_the_strategy_that_it_is_lent() {}

/// ```compile_fail,E0508
/// fn hand_on(replica: &mdist::Replica<'_>) {
///     let _ = replica.merge_call(&[(&1f32).into()], 1, |_, values| Ok(vec![Some(values[0])]));
/// }
/// ```
fn a_merge_hands_on_a_value_that_is_lent() {}

/// ```compile_fail,E0505
/// fn outlive(value: mdist::Value) -> usize {
///     let tensor = value.tensor(0).unwrap();
///     drop(value);
///     tensor.elements()
/// }
/// ```
fn a_tensor_outlives_its_value() {}

/// ```compile_fail,E0521
/// fn keep<'a>(strategy: &mdist::Strategy, place: &std::sync::Mutex<Option<mdist::Tensor<'a>>>) {
///     let _ = strategy.run(|replica| Ok(*place.lock().unwrap() = Some(replica.argument(0)?)));
/// }
/// ```
fn an_argument_outlives_its_step() {}

/// ```compile_fail,E0505
/// fn end(strategy: &mdist::Strategy, value: mdist::Value) {
///     let values = [value];
///     let open = strategy.begin(mdist::Run::new().arguments(&values)).unwrap();
///     drop(values);
///     let _ = open.enter(0);
/// }
/// ```
fn a_value_ends_before_the_run_it_is_an_argument_of() {}

/// ```compile_fail,E0505
/// fn end(variable: mdist::Variable) -> f32 {
///     let copy = variable.copy::<f32>(0).unwrap();
///     drop(variable);
///     copy[0]
/// }
/// ```
fn a_variable_ends_while_a_copy_is_held() {}

/// ```compile_fail,E0505
/// fn keep(copy: mdist::TensorRefMut<'_>) -> usize {
///     let tensor = copy.tensor();
///     drop(copy);
///     tensor.elements()
/// }
/// ```
fn a_tensor_outlives_the_guard_of_its_copy() {}

/// ```compile_fail,E0502
/// fn both(copy: &mut mdist::TensorRefMut<'_>) {
///     let tensor = copy.tensor();
///     let _ = mdist::copy_tensor(copy.tensor_mut(), tensor);
/// }
/// ```
fn a_copy_is_written_while_it_is_read() {}

/// ```compile_fail,E0133
/// fn lend(replica: &mdist::Replica<'_>, stream: *mut std::ffi::c_void) {
///     let _ = replica.use_stream(stream);
/// }
/// ```
fn a_stream_is_lent_without_a_word() {}

/// ```compile_fail,E0382
/// fn touch(replica: &mdist::Replica<'_>, mut gradients: Vec<f32>) {
///     let work = replica.all_reduce_start(mdist::Op::Sum, gradients).unwrap();
///     gradients[0] = 1.0;
///     let _ = work.wait();
/// }
/// ```
fn a_works_buffers_are_touched_before_it_is_done() {}

/// ```compile_fail,E0277
/// fn borrow(replica: &mdist::Replica<'_>, gradients: &mut [f32]) {
///     std::mem::forget(replica.all_reduce_start(mdist::Op::Sum, gradients).unwrap());
/// }
/// ```
fn a_work_borrows_its_buffers() {}

/// ```compile_fail,E0505
/// fn outlive(entered: mdist::Entered<'_>) {
///     let work = entered.barrier_start().unwrap();
///     let _ = entered.exit(Ok(()));
///     let _ = work.wait();
/// }
/// ```
fn a_work_outlives_the_replica_that_started_it() {}

/// ```compile_fail,E0499
/// fn twice(replica: &mdist::Replica<'_>, x: &mut [f32]) {
///     let mut buffers = [mdist::SliceMut::new(x), mdist::SliceMut::new(x)];
///     let _ = replica.all_reduce(mdist::Op::Sum, &mut buffers);
/// }
/// ```
fn one_slice_is_twice_in_one_operation() {}

/// ```compile_fail,E0277
/// fn share(config: &mdist::Config) {
///     std::thread::scope(|scope| drop(scope.spawn(|| config.get("devices"))));
/// }
/// ```
fn a_config_is_used_from_two_threads() {}

/// ```compile_fail,E0597
/// fn borrow(rows: &mdist::Dataset) -> mdist::Result<mdist::Dataset> {
///     let factor = 2.0f32;
///     let factor = &factor;
///     rows.map(&[], move |_, _| Ok(drop(*factor)))
/// }
/// ```
fn a_map_borrows() {}

/// ```compile_fail,E0277
/// #[derive(Clone, Copy, Default)]
/// struct Own(f32);
/// impl mdist::Element for Own {}
/// ```
fn an_element_type_of_ones_own() {}

/// ```compile_fail,E0505
/// fn leave(replica: &mdist::Replica<'_>, group: mdist::Group) {
///     let member = replica.in_group(&group);
///     drop(group);
///     let _ = member.barrier();
/// }
/// ```
fn a_group_ends_before_its_member() {}

/// ```compile_fail,E0373
/// fn hear(replica: &mdist::Replica<'_>) {
///     let mut heard = 0;
///     let work = replica.barrier_start().unwrap();
///     let _ = work.on_done(|_| heard += 1);
/// }
/// ```
fn the_end_of_a_work_is_heard_by_what_has_ended() {}

/// ```compile_fail,E0277
/// fn share() {
///     let counter = std::rc::Rc::new(0);
///     let _ = mdist::Operator::new("shared", move |left: &[f32; 1], _: &[f32; 1]| [left[0] + *counter as f32]);
/// }
/// ```
fn an_operator_shares_what_is_not_sync() {}

/// ```compile_fail,E0502
/// fn write(replica: &mdist::Replica<'_>, call: &mut mdist::Call<Vec<f32>>) {
///     let read = call.buffer::<f32>(0).unwrap();
///     let _ = call.run(replica);
///     assert_eq!(read[0], 1.0);
/// }
/// ```
fn a_prepared_call_writes_what_is_read() {}

/// ```compile_fail,E0502
/// fn regroup(mut strategy: mdist::Strategy) {
///     let open = strategy.begin(mdist::Run::new()).unwrap();
///     let _ = strategy.regroup();
///     let _ = open.enter(0);
/// }
/// ```
fn a_job_regroups_while_a_run_is_open() {}
