# SPDX-License-Identifier: Apache-2.0
"""Worker: reduces arrays again and again, over TensorFlow or libmdist: worker.py KIND BYTES... Replica 0 prints a line
for each size: "bytes=4096 us=12.3". bench starts the workers and sets their variables.

    mirrored        tf.distribute.MirroredStrategy, two replicas on logical CPUs of this process
    multi_worker    tf.distribute.MultiWorkerMirroredStrategy, the job of TF_CONFIG
    mdist           the strategy that the environment describes
"""
import statistics
import sys
import time

CALLS = 10  # in a row: TensorFlow starts a function for all of them
WARM, SAMPLES = 3, 21
FLOAT = 4


def tell(size, reduce_all):
    """Measures `reduce_all`, which makes CALLS all-reduces."""
    times = []
    for number in range(WARM + SAMPLES):
        begin = time.perf_counter()
        reduce_all()
        if number >= WARM:
            times.append(time.perf_counter() - begin)
    return f"bytes={size} us={1e6 * statistics.median(times) / CALLS:.2f}"


def tensorflow_strategy(kind):
    import tensorflow as tf
    if kind == "mirrored":
        cpu = tf.config.list_physical_devices("CPU")[0]
        tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
        return tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    ring = tf.distribute.experimental.CommunicationImplementation.RING
    return tf.distribute.MultiWorkerMirroredStrategy(
        communication_options=tf.distribute.experimental.CommunicationOptions(implementation=ring))


def over_tensorflow(kind, sizes):
    import tensorflow as tf
    strategy = tensorflow_strategy(kind)
    chief = kind == "mirrored" or strategy.cluster_resolver.task_id == 0

    @tf.function
    def reduce_all(values):
        def step(x):
            replica = tf.distribute.get_replica_context()
            x = tf.identity(x)  # on this replica's device: all_reduce refuses an argument of a function, which has none
            for _ in range(CALLS):
                x = replica.all_reduce(tf.distribute.ReduceOp.MEAN, x)
            return x
        return strategy.run(step, args=(values,))

    for size in sizes:
        values = strategy.experimental_distribute_values_from_function(
            lambda context: tf.fill([size // FLOAT], context.replica_id_in_sync_group + 1.0))
        found = strategy.experimental_local_results(reduce_all(values))[0].numpy()
        if (found != 1.5).any():
            sys.exit(f"{size} bytes: {found[0]} instead of 1.5")
        line = tell(size, lambda: reduce_all(values))
        if chief:
            print(line, flush=True)


def over_mdist(sizes):
    import mdist
    import numpy

    def measure(replica):
        for size in sizes:
            array = numpy.full(size // FLOAT, replica.id + 1, "float32")
            call = strategy.prepare(replica.local_index).all_reduce("mean", array)
            call.run(replica)
            if (array != 1.5).any():
                sys.exit(f"{size} bytes: {array[0]} instead of 1.5")

            def reduce_all():
                for _ in range(CALLS):
                    call.run(replica)

            line = tell(size, reduce_all)
            if replica.id == 0:
                print(line, flush=True)

    with mdist.Strategy() as strategy:
        strategy.run(measure)


def main():
    kind, sizes = sys.argv[1], [int(size) for size in sys.argv[2:]]
    if kind == "mdist":
        return over_mdist(sizes)
    return over_tensorflow(kind, sizes)


main()
