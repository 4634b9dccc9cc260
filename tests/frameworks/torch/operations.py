# SPDX-License-Identifier: Apache-2.0
"""Every operation of torch.distributed that backend "mdist" has. Each process knows the inputs of all, and computes the
expected result alone. Started by torchrun with any number of processes from 2."""
import functools
import operator
import sys
import tempfile
from datetime import timedelta

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as checkpoint

import mdist.torch  # noqa: F401

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
tests = []
Op = dist.ReduceOp


def test(function):
    tests.append(function)
    return function


def given(rank, dtype=torch.float32, shape=(4, 3)):
    """The input of a process: small whole numbers, whose sums and products every type holds exactly."""
    numbers = torch.arange(functools.reduce(operator.mul, shape, 1)).reshape(shape)
    return ((numbers * 7 + rank * 3) % 3 + 1).to(dtype) if dtype != torch.bool else (numbers + rank) % 3 == 0


def inputs(dtype=torch.float32, shape=(4, 3)):
    return [given(rank, dtype, shape) for rank in range(SIZE)]


def total(tensors, combine=operator.add):
    return functools.reduce(combine, tensors)


def same(found, expected):
    assert found.dtype == expected.dtype and torch.equal(found, expected), f"{found}, where {expected} belongs"


COMBINE = {Op.SUM: operator.add, Op.PRODUCT: operator.mul, Op.MIN: torch.minimum, Op.MAX: torch.maximum,
           Op.BAND: operator.and_, Op.BOR: operator.or_, Op.BXOR: operator.xor}


@test
def all_reduce_has_all_operations_and_types():
    kinds = [(Op.SUM, FLOATS + INTEGERS), (Op.PRODUCT, FLOATS + INTEGERS), (Op.MIN, FLOATS + INTEGERS),
             (Op.MAX, FLOATS + INTEGERS), (Op.BAND, INTEGERS + [torch.bool]), (Op.BOR, INTEGERS + [torch.bool]),
             (Op.BXOR, INTEGERS + [torch.bool])]
    for op, dtypes in kinds:
        for dtype in dtypes:
            x = given(RANK, dtype)
            dist.all_reduce(x, op)
            same(x, total(inputs(dtype), COMBINE[op]))


@test
def all_reduce_has_the_mean():
    for dtype in FLOATS:
        x = given(RANK, dtype)
        dist.all_reduce(x, Op.AVG)
        same(x, (total(inputs(torch.float32)) / SIZE).to(dtype))


@test
def all_reduce_adds_sparse_tensors():
    """Each process has other rows, some twice; one has none."""
    for dtype in (torch.float32, torch.bfloat16, torch.int64):
        for sparse, shape in ((1, (9,)), (2, (9, 4)), (1, (9, 2, 3)), (3, (2, 9, 3))):
            def made(rank):
                at = torch.arange(0 if rank == SIZE - 1 else 6).remainder(4 + rank)
                indices = torch.stack([(at + i) % shape[i] for i in range(sparse)])
                values = given(rank, dtype, (len(at), *shape[sparse:]))
                return torch.sparse_coo_tensor(indices, values, shape, check_invariants=True)

            x, expected = made(RANK), total([made(rank).to_dense() for rank in range(SIZE)])
            work = dist.all_reduce(x, async_op=True)
            work.wait()
            assert x.is_coalesced() and work.is_completed()
            same(x.to_dense(), expected)
            if dtype == torch.float32:
                x = made(RANK)
                dist.all_reduce(x, Op.AVG)
                assert torch.allclose(x.to_dense(), expected / SIZE)
    embedding = torch.nn.Embedding(7, 2, sparse=True)
    model = torch.nn.parallel.DistributedDataParallel(embedding)
    model(torch.tensor([RANK, 5])).sum().backward()
    expected = torch.zeros(7, 2)
    expected[:SIZE] += 1
    expected[5] += SIZE
    assert torch.allclose(embedding.weight.grad.to_dense(), expected / SIZE)


@test
def means_of_integers_are_cut():
    """As `total.copy_(total / SIZE)` after a SUM, which programs write for Gloo."""
    for dtype in INTEGERS:
        x = given(RANK, dtype)
        dist.all_reduce(x, Op.AVG)
        same(x, (total(inputs(torch.float64)) / SIZE).to(dtype))
    gaps = -torch.arange(12)[::2] * (RANK + 1)
    dist.all_reduce(gaps, Op.AVG)
    same(gaps, (-torch.arange(12, dtype=torch.float64)[::2] * (SIZE + 1) / 2).to(torch.int64))
    rooted = given(RANK, torch.int64)
    dist.reduce(rooted, 1, Op.AVG)
    same(rooted, (total(inputs(torch.float64)) / SIZE).to(torch.int64) if RANK == 1 else given(RANK, torch.int64))
    row = torch.empty(3, dtype=torch.int32)
    dist.reduce_scatter_tensor(row, given(RANK, torch.int32, (SIZE, 3)), Op.AVG)
    same(row, (total(inputs(torch.float64, (SIZE, 3)))[RANK] / SIZE).to(torch.int32))


@test
def all_reduce_takes_complex_numbers():
    x = torch.complex(given(RANK), given(RANK) * 2)
    dist.all_reduce(x)
    same(x, torch.complex(total(inputs()), total(inputs()) * 2))


@test
def all_reduce_takes_tensors_in_any_layout():
    image = given(RANK, shape=(2, 3, 4, 5)).contiguous(memory_format=torch.channels_last)
    expected = total(inputs(shape=(2, 3, 4, 5)))
    dist.all_reduce(image)
    same(image, expected)
    sparse = torch.zeros(4, 6)
    view = sparse[:, ::2]  # with gaps
    view.copy_(given(RANK))
    dist.all_reduce(view)
    same(view, total(inputs()))
    assert not sparse[:, 1::2].any()
    number = torch.tensor(float(RANK))
    dist.all_reduce(number)
    same(number, torch.tensor(SIZE * (SIZE - 1) / 2))
    dist.all_reduce(torch.empty(0))


@test
def all_reduce_coalesced_reduces_many_tensors_at_once():
    tensors = [given(RANK), given(RANK, shape=(5,))]
    dist.all_reduce_coalesced(tensors)
    same(tensors[0], total(inputs()))
    same(tensors[1], total(inputs(shape=(5,))))


@test
def broadcast_copies_every_type():
    for dtype in FLOATS + INTEGERS + [torch.bool, torch.complex64, torch.float8_e4m3fn]:
        for root in range(SIZE):
            x = given(RANK).to(dtype)
            dist.broadcast(x, root)
            same(x.float() if dtype == torch.float8_e4m3fn else x,
                 given(root).to(dtype).float() if dtype == torch.float8_e4m3fn else given(root).to(dtype))


@test
def all_gather_fills_a_list():
    apart = [torch.empty(4, 3) for _ in range(SIZE)]
    dist.all_gather(apart, given(RANK))
    memory = torch.empty(SIZE, 4, 3)
    together = list(memory.unbind())
    dist.all_gather(together, given(RANK))
    for rank in range(SIZE):
        same(apart[rank], given(rank))
        same(memory[rank], given(rank))


@test
def all_gather_takes_different_lengths():
    outputs = [torch.empty(rank + 1, 3) for rank in range(SIZE)]
    dist.all_gather(outputs, given(RANK)[:1].repeat(RANK + 1, 1))
    for rank in range(SIZE):
        same(outputs[rank], given(rank)[:1].repeat(rank + 1, 1))


@test
def all_gather_into_tensor_fills_a_tensor():
    for dtype in FLOATS + INTEGERS + [torch.bool]:
        output = torch.empty(4 * SIZE, 3, dtype=dtype)
        dist.all_gather_into_tensor(output, given(RANK, dtype))
        same(output, torch.cat(inputs(dtype)))


@test
def reduce_scatter_takes_a_list():
    output = torch.empty(4, 3)
    dist.reduce_scatter(output, [given(RANK) * (part + 1) for part in range(SIZE)])
    same(output, total(inputs()) * (RANK + 1))


@test
def reduce_scatter_tensor_takes_a_tensor():
    for op in (Op.SUM, Op.MAX, Op.PRODUCT):
        output = torch.empty(4, 3)
        dist.reduce_scatter_tensor(output, torch.cat([given(RANK) + part for part in range(SIZE)]), op)
        same(output, total([one + RANK for one in inputs()], COMBINE[op]))


@test
def all_to_all_exchanges_lists():
    outputs = [torch.empty(rank + 1) for rank in range(SIZE)]
    dist.all_to_all(outputs, [torch.full((RANK + 1,), 10.0 * RANK + to) for to in range(SIZE)])
    for rank in range(SIZE):
        same(outputs[rank], torch.full((rank + 1,), 10.0 * rank + RANK))


@test
def all_to_all_single_exchanges_equal_parts():
    output = torch.empty(2 * SIZE, 3)
    dist.all_to_all_single(output, torch.cat([given(RANK)[:2] + to for to in range(SIZE)]))
    same(output, torch.cat([given(rank)[:2] + RANK for rank in range(SIZE)]))


@test
def all_to_all_single_exchanges_parts_of_any_lengths():
    sent = [(RANK + to) % 3 for to in range(SIZE)]
    received = [(rank + RANK) % 3 for rank in range(SIZE)]
    output = torch.empty(sum(received), 2, dtype=torch.int64)
    pieces = [torch.full((length, 2), 10 * RANK + to) for to, length in enumerate(sent)]
    dist.all_to_all_single(output, torch.cat(pieces), received, sent)
    same(output, torch.cat([torch.full((length, 2), 10 * rank + RANK) for rank, length in enumerate(received)]))


@test
def gather_fills_the_list_of_one_process():
    for root in range(SIZE):
        outputs = [torch.empty(4, 3) for _ in range(SIZE)] if RANK == root else None
        dist.gather(given(RANK), outputs, dst=root)
        if RANK == root:
            for rank in range(SIZE):
                same(outputs[rank], given(rank))


@test
def scatter_shares_out_the_list_of_one_process():
    for root in range(SIZE):
        output = torch.empty(4, 3)
        dist.scatter(output, [given(rank) + root for rank in range(SIZE)] if RANK == root else None, src=root)
        same(output, given(RANK) + root)


@test
def reduce_changes_only_the_root():
    for root in range(SIZE):
        x = given(RANK)
        dist.reduce(x, root, Op.MAX)
        same(x, total(inputs(), torch.maximum) if RANK == root else given(RANK))


@test
def barrier_waits_for_all():
    counter = dist.distributed_c10d._get_default_store()
    counter.add("barrier", 1)
    dist.barrier()
    assert int(counter.get("barrier")) >= SIZE
    dist.barrier(async_op=True).wait()


@test
def objects_are_gathered_broadcast_and_scattered():
    everything = [None] * SIZE
    dist.all_gather_object(everything, {"rank": RANK, "text": "x" * RANK})
    assert everything == [{"rank": rank, "text": "x" * rank} for rank in range(SIZE)]
    objects = [("from", RANK)]
    dist.broadcast_object_list(objects, src=1)
    assert objects == [("from", 1)]
    gathered = [None] * SIZE if RANK == 0 else None
    dist.gather_object(RANK, gathered, dst=0)
    assert RANK or gathered == list(range(SIZE))
    received = [None]
    dist.scatter_object_list(received, [f"for {rank}" for rank in range(SIZE)] if RANK == 0 else None, src=0)
    assert received == [f"for {RANK}"]


@test
def groups_have_collectives_of_their_own():
    members = [SIZE - 1, 0]
    pair = dist.new_group(members)
    alone = dist.new_group([1])
    if RANK in members:
        x = given(RANK)
        dist.all_reduce(x, group=pair)
        same(x, given(0) + given(SIZE - 1))
        dist.broadcast(x, SIZE - 1, group=pair)
        dist.destroy_process_group(pair)
    if RANK == 1:
        x = given(RANK)
        dist.all_reduce(x, group=alone)
        same(x, given(RANK))
        dist.destroy_process_group(alone)


@test
def groups_take_keys_of_the_configuration():
    sockets = dist.new_group(pg_options={"communication.implementation": "tcp"}, timeout=timedelta(seconds=90))
    x = given(RANK)
    dist.all_reduce(x, group=sockets)
    same(x, total(inputs()))
    dist.destroy_process_group(sockets)
    try:
        dist.new_group(pg_options={"devices": "cpu*2"})
    except ValueError as error:
        assert "devices" in str(error), error
    else:
        raise AssertionError("the process group took other devices")


@test
def started_operations_end_in_order():
    x, y = given(RANK), given(RANK) * 2
    works = [dist.all_reduce(x, async_op=True), dist.all_reduce(y, async_op=True)]
    assert works[1].wait() and works[0].wait() and works[0].is_completed()
    same(x, total(inputs()))
    same(y, total(inputs()) * 2)
    assert [work.exception() for work in works] == [None, None]


@test
def futures_give_the_tensors_and_run_what_is_chained():
    x = given(RANK)
    future = dist.all_reduce(x, async_op=True).get_future()
    doubled = future.then(lambda done: dist.all_reduce(done.value()[0], async_op=True).get_future().wait()[0] * 2)
    same(doubled.wait(), total(inputs()) * SIZE * 2)


@test
def an_operation_that_nobody_waits_for_still_ends():
    x = given(RANK)
    dist.all_reduce(x, async_op=True)
    dist.barrier()
    same(x, total(inputs()))


@test
def messages_go_from_one_to_another():
    right, left = (RANK + 1) % SIZE, (RANK - 1) % SIZE
    for length in (1, 100000):
        received, late = torch.empty(length), torch.empty(length, dtype=torch.int64)
        works = [dist.isend(torch.full((length,), float(RANK)), right), dist.irecv(received, left),
                 dist.isend(torch.full((length,), RANK), right, tag=7), dist.irecv(late, left, tag=7)]
        for work in works:
            work.wait()
        same(received, torch.full((length,), float(left)))
        same(late, torch.full((length,), left))
    if RANK == 0:
        dist.send(given(0), 1)
    if RANK == 1:
        x = torch.empty(4, 3)
        assert dist.recv(x, 0) == 0
        same(x, given(0))
    x = torch.empty(4, 3)
    for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, given(RANK), right), dist.P2POp(dist.irecv, x, left)]):
        work.wait()
    same(x, given(left))


@test
def functional_collectives_give_new_tensors():
    import torch.distributed._functional_collectives as functional

    same(functional.wait_tensor(functional.all_reduce(given(RANK), "sum", dist.group.WORLD)), total(inputs()))
    gathered = functional.all_gather_tensor(given(RANK), 0, dist.group.WORLD)
    same(functional.wait_tensor(gathered), torch.cat(inputs()))
    with dist.distributed_c10d._coalescing_manager():
        first, second = given(RANK), given(RANK, shape=(5,))
        dist.all_reduce(first)
        dist.all_reduce(second)
    same(first, total(inputs()))
    same(second, total(inputs(shape=(5,))))


def trained(wrap, optimizer_of):
    """The weights after two steps on the inputs of one process, or of all."""
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(3, 6), torch.nn.Linear(6, 2))
    model = wrap(model) or model
    optimizer = optimizer_of(model)
    for _ in range(2):
        optimizer.zero_grad()
        rows = torch.cat(inputs()) if wrap is alone else given(RANK)
        model(rows).square().mean().backward()
        optimizer.step()
    return list(model.parameters())


def alone(_):
    return None


@test
def sharded_tensors_optimizers_and_modules_work():
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.optim import ZeroRedundancyOptimizer
    from torch.distributed.tensor import Shard, distribute_tensor

    mesh = init_device_mesh("cpu", (SIZE,))
    numbers = torch.arange(8.0 * SIZE).reshape(4 * SIZE, 2)
    same(distribute_tensor(numbers, mesh, [Shard(0)]).full_tensor(), numbers)
    expected = trained(alone, lambda model: torch.optim.Adam(model.parameters(), lr=0.1))
    sharded_optimizer = trained(torch.nn.parallel.DistributedDataParallel, lambda model: ZeroRedundancyOptimizer(
        model.parameters(), torch.optim.Adam, lr=0.1))
    sharded = trained(lambda model: fully_shard(model, mesh=mesh),
                      lambda model: torch.optim.Adam(model.parameters(), lr=0.1))
    for ours, theirs, wanted in zip(sharded_optimizer, sharded, expected):
        assert torch.allclose(ours, wanted, atol=1e-5), f"{ours}, where {wanted} belongs"
        assert torch.allclose(theirs.full_tensor(), wanted, atol=1e-5), f"{theirs}, where {wanted} belongs"


@test
def compiled_modules_are_trained():
    def trained(wrap):
        torch.manual_seed(1)
        module = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.ReLU(), torch.nn.Linear(5, 2))
        model = wrap(torch.nn.parallel.DistributedDataParallel(module))
        for _ in range(3):
            model(given(RANK)).square().mean().backward()
        return [one.grad.clone() for one in module.parameters()]

    for ours, expected in zip(trained(lambda model: torch.compile(model, backend="eager")), trained(lambda model: model)):
        same(ours, expected)


@test
def checkpoints_are_saved_in_the_background():
    state = {"weight": given(RANK)}
    with tempfile.TemporaryDirectory() as own:
        folders = [own]
        dist.broadcast_object_list(folders, 0)
        checkpoint.async_save(state, checkpoint_id=folders[0]).result()
        found = {"weight": torch.zeros(4, 3)}
        checkpoint.load(found, checkpoint_id=folders[0])
        same(found["weight"], given(0))
        dist.barrier()


def disagree(group):
    """Each process gives another length, and is told that the others do."""
    try:
        dist.all_reduce(torch.ones(RANK + 1), group=group)
    except RuntimeError as error:
        assert "mdist_all_reduce" in str(error), error
    else:
        raise AssertionError("workers that disagree were not told so")


@test
def the_profiler_sees_operations():
    """The start of each, and each wait."""
    def events(call):
        with torch.profiler.profile() as found:
            call()
        return sorted(event.name for event in found.events() if event.name.startswith("mdist:"))

    def train():
        model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 2))
        model(given(RANK)).square().mean().backward()

    def exchange():
        receiving = dist.irecv(torch.zeros(3), (RANK - 1) % SIZE)
        dist.isend(torch.ones(3), (RANK + 1) % SIZE).wait()
        receiving.wait()

    found = events(train)
    assert {"mdist:all_reduce", "mdist:broadcast"} <= set(found), found
    assert events(exchange) == ["mdist:recv", "mdist:send", "mdist:wait", "mdist:wait"]
    assert events(lambda: dist.all_reduce(torch.ones(1))) == ["mdist:all_reduce", "mdist:wait"]
    assert events(lambda: dist.all_gather_object([None] * SIZE, RANK))[0].startswith("mdist:all_gather")
    group = dist.new_group()
    dist.barrier(group)  # all have made it
    assert events(lambda: disagree(group))[0] == "mdist:all_reduce"
    dist.destroy_process_group(group)


@test
def a_group_can_be_destroyed_after_a_failure():
    """The first exception is the one that the program sees."""
    group = dist.new_group()
    dist.barrier(group)  # all have made it
    disagree(group)
    dist.destroy_process_group(group)


@test
def a_group_takes_another_timeout():
    group = dist.new_group()
    dist.monitored_barrier(group, timedelta(seconds=90))
    dist.set_timeout(timedelta(seconds=1), group)
    if RANK == 0:
        try:
            dist.barrier(group)
        except RuntimeError as error:
            assert "timeout" in str(error), error
        else:
            raise AssertionError("nobody came, and the barrier ended")
    dist.barrier()
    try:
        dist.destroy_process_group(group)
    except RuntimeError:  # what has ended the group, of which the others have not heard
        assert RANK != 0


@test
def what_the_library_cannot_do_is_refused_in_words():
    for function, words in [
            (lambda: dist.all_reduce(given(RANK, torch.uint32), Op.AVG), "MEAN of integers"),
            (lambda: dist.all_reduce(given(RANK), Op.BAND), "AND of floating-point numbers"),
            (lambda: dist.all_reduce(given(RANK, torch.bool)), "SUM of bool"),
            (lambda: dist.all_reduce(given(RANK).to(torch.float8_e4m3fn)), "float8_e4m3fn cannot be reduced"),
            (lambda: dist.all_reduce(given(RANK).to_sparse(), Op.MAX), "MAX of a sparse tensor of 2 dimensions"),
            (lambda: dist.all_reduce(torch.zeros(3 + RANK).to_sparse()), f"where process {0 if RANK else 1} has shape"),
            (lambda: dist.broadcast(given(RANK).to_sparse(), 0), "a sparse tensor"),
            (lambda: dist.recv(torch.empty(1)), "names its sender")]:
        try:
            function()
        except Exception as error:
            assert words in str(error), error
        else:
            raise AssertionError(f"nothing said {words}")


if __name__ == "__main__":
    torch.set_num_threads(1)
    dist.init_process_group("mdist")
    RANK, SIZE = dist.get_rank(), dist.get_world_size()
    chosen = sys.argv[1:]
    for one in tests:
        if chosen and one.__name__ not in chosen:
            continue
        one()
        dist.barrier()
        if RANK == 0:
            print("ok -", one.__name__.replace("_", " "), flush=True)
    dist.destroy_process_group()
