// SPDX-License-Identifier: Apache-2.0
//! GPUs. Those that need some run where the library's module for them is a fake, whose memory
//! crashes whoever touches it from the host: `MDIST_FAKE_GPU=devices=2 cargo test --test gpu --
//! --ignored`.
mod common;

use std::collections::HashSet;
use std::sync::Mutex;

use common::{cause, strategy};
use mdist::{
    copy_tensor, gpus, Config, Device, Memory, Op, Run, SliceMut, Status, Strategy, Tensor,
    TensorMut, Value, Variable, VariableOptions,
};

fn gpu_strategy() -> Strategy {
    let mut config = Config::new().unwrap();
    config.set("devices", "gpu:0,gpu:1").unwrap();
    Strategy::new(&config).unwrap()
}

fn zeros(strategy: &Strategy, shape: &[usize]) -> Variable {
    named(strategy, "w", shape)
}

fn named(strategy: &Strategy, name: &str, shape: &[usize]) -> Variable {
    let dtype = <f32 as mdist::Element>::dtype();
    strategy
        .zeros(name, dtype, shape, VariableOptions::default())
        .unwrap()
}

#[test]
fn a_cpu_replica_has_no_stream() {
    let strategy = strategy(1);
    let pinned = Memory::<f32>::pinned(3).unwrap();
    assert_eq!(*pinned, [0.0; 3]);
    strategy
        .run(|replica| {
            assert!(replica.stream()?.is_null());
            // Safety: NULL; and what is no stream is refused unseen.
            unsafe {
                replica.use_stream(std::ptr::null_mut())?;
                let refused = replica.use_stream(replica as *const _ as *mut _);
                assert_eq!(refused.unwrap_err().status(), Status::InvalidArgument);
            }
            let mut here = [0f32; 2];
            replica.copy_tensor(&mut here[..], &[1f32, 2.0][..])?;
            assert_eq!(here, [1.0, 2.0]);
            Ok(())
        })
        .unwrap();
}

#[test]
#[ignore = "needs fake GPUs"]
fn gpus_are_counted_and_named() {
    let found = gpus().unwrap();
    assert_eq!(found.count, 2);
    assert!(found.text.contains("gpu:1"), "{}", found.text);
}

#[test]
#[ignore = "needs fake GPUs"]
fn tensors_say_where_they_lie_and_are_no_slices() {
    let strategy = gpu_strategy();
    let variable = zeros(&strategy, &[2]);
    let guard = variable.tensor(1).unwrap();
    let tensor = guard.tensor();
    assert_eq!(tensor.device(), Device::Gpu(1));
    assert_eq!(tensor.device().to_string(), "gpu:1");
    assert_eq!(Tensor::from(&1f32).device(), Device::Cpu);
    let address = tensor.as_ptr().cast::<f32>();
    // Safety: the variable's own memory, which the guard keeps from being written.
    let same = unsafe { Tensor::from_raw_parts(address, &[2]) }.unwrap();
    assert_eq!(same.device(), Device::Gpu(1));
    let says =
        "the tensor lies on gpu:1, and a slice is memory of the host; copy_tensor, in a step \
                Replica::copy_tensor, brings it there";
    assert_eq!(tensor.as_slice::<f32>().unwrap_err().to_string(), says);
    assert_eq!(
        variable.copy::<f32>(1).map(drop).unwrap_err().to_string(),
        says
    );
    let refused = Memory::<f32>::of_replica(&strategy, 0, 1).unwrap_err();
    assert!(refused.to_string().contains("copy_tensor"), "{refused}");
    assert_eq!(
        variable.tensor_mut(1).map(drop).unwrap_err().reason(),
        "borrowed"
    );
}

#[test]
#[ignore = "needs fake GPUs"]
fn copies_go_both_ways() {
    let strategy = gpu_strategy();
    let variable = zeros(&strategy, &[2, 2]);
    let numbers = [1f32, 2.0, 3.0, 4.0];
    let mut first = variable.tensor_mut(0).unwrap();
    let mut second = variable.tensor_mut(1).unwrap();
    let mut pinned = Memory::<f32>::pinned(4).unwrap();
    copy_tensor(first.tensor_mut(), Tensor::new(&numbers, &[2, 2]).unwrap()).unwrap();
    copy_tensor(second.tensor_mut(), first.tensor()).unwrap();
    assert_eq!(second.tensor().to_vec::<f32>().unwrap(), numbers);
    copy_tensor(
        TensorMut::new(&mut pinned, &[2, 2]).unwrap(),
        second.tensor(),
    )
    .unwrap();
    assert_eq!(*pinned, numbers);
    let unlike = copy_tensor(first.tensor_mut(), &numbers[..]);
    assert_eq!(unlike.unwrap_err().status(), Status::InvalidArgument);
    assert!(second.tensor().to_vec::<i32>().is_err());

    let value = Value::new(second.tensor()).unwrap();
    assert_eq!(value.tensor(0).unwrap().device(), Device::Gpu(1));
    drop((first, second));
    drop((variable, strategy));
    assert_eq!(value.tensor(0).unwrap().to_vec::<f32>().unwrap(), numbers);
}

#[test]
#[ignore = "needs fake GPUs"]
fn graphs_are_recorded_once() {
    for (devices, times) in [("gpu:0", 1), ("cpu", 3)] {
        let mut config = Config::new().unwrap();
        config.set("devices", devices).unwrap();
        let strategy = Strategy::new(&config).unwrap();
        let (from, to) = (named(&strategy, "f", &[1]), named(&strategy, "t", &[1]));
        let calls = Mutex::new(0);
        for i in 0..3 {
            copy_tensor(from.tensor_mut(0).unwrap().tensor_mut(), &[i as f32][..]).unwrap();
            strategy
                .run(|replica| {
                    let copy = || {
                        *calls.lock().unwrap() += 1;
                        let mut to = replica.tensor_mut(&to)?;
                        replica.copy_tensor(to.tensor_mut(), from.tensor(0)?.tensor())
                    };
                    // Safety: the variables live as long as the strategy.
                    unsafe { replica.graph(7, copy)? };
                    Ok(())
                })
                .unwrap();
            let here = to.tensor(0).unwrap().tensor().to_vec::<f32>().unwrap();
            assert_eq!(here, [i as f32]);
        }
        assert_eq!(calls.into_inner().unwrap(), times);
    }
}

#[test]
#[ignore = "needs fake GPUs"]
fn steps_work_on_their_stream() {
    let strategy = gpu_strategy();
    let variable = zeros(&strategy, &[2]);
    let streams = Mutex::new(HashSet::new());
    let results = strategy
        .run_with(Run::new().results(1), |replica| {
            let stream = replica.stream()?;
            streams.lock().unwrap().insert(stream as usize);
            // Safety: the replica's own.
            unsafe { replica.use_stream(stream)? };
            let mut own = replica.tensor_mut(&variable)?;
            replica.copy_tensor(own.tensor_mut(), &[1f32, replica.id() as f32][..])?;
            replica.all_reduce(Op::Sum, &mut own.tensor_mut())?;
            replica.all_reduce(Op::Sum, &mut [SliceMut::from(&mut own.tensor_mut())])?;
            let mut here = [0f32; 2];
            replica.copy_tensor(&mut here[..], own.tensor())?;
            assert_eq!(here, [4.0, 2.0]);
            let merged = replica.merge_call(&[own.tensor()], 1, |strategy, values| {
                Ok(vec![Some(strategy.reduce(Op::Sum, &values[0], &[])?)])
            })?;
            let merged = merged[0].as_ref().ok_or("no result")?;
            assert_eq!(merged.tensor().as_slice::<f32>()?, [8.0, 4.0]);
            Ok(replica.set_result(0, own.tensor())?)
        })
        .unwrap();
    let result = results[0].as_ref().unwrap().tensor(1).unwrap();
    assert_eq!(result.device(), Device::Gpu(1));
    assert_eq!(result.to_vec::<f32>().unwrap(), [4.0, 2.0]);
    assert_eq!(streams.into_inner().unwrap().len(), 2);
}

#[test]
#[ignore = "needs fake GPUs"]
fn a_step_that_takes_a_slice_is_told_what_to_do() {
    let strategy = gpu_strategy();
    let variable = zeros(&strategy, &[2]);
    let failed = strategy.run(|replica| Ok(replica.copy::<f32>(&variable).map(drop)?));
    let says = cause(&failed.unwrap_err());
    assert!(says.contains("Replica::copy_tensor"), "{says}");
}

#[test]
#[ignore = "needs fake GPUs"]
fn updates_get_their_copy_on_the_gpu() {
    let strategy = gpu_strategy();
    let variable = zeros(&strategy, &[2]);
    let given = Value::new(&[5f32, 6.0][..]).unwrap();
    variable
        .update(&[&given], |local_replica, copy, arguments| {
            assert_eq!(copy.device(), Device::Gpu(local_replica));
            Ok(copy_tensor(copy, arguments[0])?)
        })
        .unwrap();
    let copy = variable.tensor(1).unwrap();
    assert_eq!(copy.tensor().to_vec::<f32>().unwrap(), [5.0, 6.0]);
}
