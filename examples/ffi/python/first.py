# SPDX-License-Identifier: Apache-2.0
import mdist
import numpy as np


def step(replica, scale):
    """Runs on every replica at the same time. Each brings its id + 1; all leave with the sum."""
    x = scale * (replica.id + 1)
    replica.all_reduce(mdist.ReduceOp.SUM, x)
    return x


with mdist.Strategy() as strategy:  # asks the environment
    result = strategy.run(step, np.ones(3, np.float32), results=1)
    for i in range(strategy.local_replica_count):
        print(f"replica {i} of {strategy.replica_count}:", result.numpy(i))

    def fail(replica):
        if replica.id == 1:
            raise LookupError("no more data")
        replica.barrier()  # the failure releases those who wait

    try:
        strategy.run(fail)
    except mdist.Error as error:
        print(error)
        print("cause:", repr(error.__cause__))
