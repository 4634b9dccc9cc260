# SPDX-License-Identifier: Apache-2.0
"""One worker: trains on every n-th of ROWS rows, over libmdist or over LightGBM's own sockets. Writes the model as text, and
the seconds of each iteration but the first to MODEL.seconds.

train.py MODEL ROWS LIBRARY          over libmdist; MDIST_* say which worker this is
train.py MODEL ROWS PORT,PORT... I   over sockets, as worker I
"""
import ctypes
import sys
import time

import lightgbm
import numpy
from lightgbm.basic import _LIB

FEATURES, ROUNDS = 20, 30
PARAMETERS = {"objective": "binary", "tree_learner": "data", "num_leaves": 31, "num_threads": 1, "deterministic": True,
              "force_row_wise": True, "pre_partition": True, "feature_fraction": 0.8, "bagging_fraction": 0.7,
              "bagging_freq": 2, "seed": 7, "verbosity": -1}


def data(rows, rank, size):
    random = numpy.random.default_rng(42)
    features = random.normal(size=(rows, FEATURES))
    features[:, 3] = random.integers(0, 12, size=rows)
    score = features[:, 0] * features[:, 1] + numpy.sin(features[:, 2] * 2) + (features[:, 3] % 3 == 1)
    labels = (score + random.normal(scale=0.3, size=rows) > 0.4).astype(numpy.float64)
    return features[rank::size], labels[rank::size]


def train(rows, rank, size, **network):
    """Returns the model, and when each iteration ended."""
    features, labels = data(rows, rank, size)
    dataset = lightgbm.Dataset(features, labels, categorical_feature=[3])
    parameters = {**PARAMETERS, "num_machines": size, **network}
    ends = []
    model = lightgbm.train(parameters, dataset, num_boost_round=ROUNDS,
                           callbacks=[lambda _: ends.append(time.perf_counter())])
    return model.model_to_string(), ends


def over_libmdist(rows, library):
    network = ctypes.CDLL(library)
    rank, size = ctypes.c_int32(), ctypes.c_int32()
    network.network_begin(ctypes.byref(rank), ctypes.byref(size))
    functions = [ctypes.cast(function, ctypes.c_void_p)
                 for function in (network.network_reduce_scatter, network.network_all_gather)]
    if _LIB.LGBM_NetworkInitWithFunctions(size, rank, *functions) != 0:
        sys.exit(ctypes.string_at(_LIB.LGBM_GetLastError()).decode())
    result = train(rows, rank.value, size.value)
    _LIB.LGBM_NetworkFree()
    network.network_end()
    return result


def over_sockets(rows, ports, rank):
    machines = ",".join(f"127.0.0.1:{port}" for port in ports)
    return train(rows, rank, len(ports), machines=machines, local_listen_port=int(ports[rank]), time_out=2)


def main():
    path, rows, where, *rank = sys.argv[1:]
    rows = int(rows)
    model, ends = over_sockets(rows, where.split(","), int(rank[0])) if rank else over_libmdist(rows, where)
    with open(path, "w", encoding="utf-8") as out:
        out.write(model)
    with open(path + ".seconds", "w", encoding="utf-8") as out:
        out.writelines(f"{end - begin}\n" for begin, end in zip(ends, ends[1:]))


main()
