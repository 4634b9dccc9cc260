# SPDX-License-Identifier: Apache-2.0
"""One worker: trains on every n-th row, over libmdist or over LightGBM's own sockets, and writes the model as text.

train.py MODEL LIBRARY          over libmdist; MDIST_* say which worker this is
train.py MODEL PORT,PORT... I   over sockets, as worker I
"""
import ctypes
import sys

import lightgbm
import numpy
from lightgbm.basic import _LIB

ROWS, FEATURES, ROUNDS = 6000, 20, 30
PARAMETERS = {"objective": "binary", "tree_learner": "data", "num_leaves": 31, "num_threads": 1, "deterministic": True,
              "force_row_wise": True, "pre_partition": True, "feature_fraction": 0.8, "bagging_fraction": 0.7,
              "bagging_freq": 2, "seed": 7, "verbosity": -1}


def data(rank, size):
    random = numpy.random.default_rng(42)
    features = random.normal(size=(ROWS, FEATURES))
    features[:, 3] = random.integers(0, 12, size=ROWS)
    score = features[:, 0] * features[:, 1] + numpy.sin(features[:, 2] * 2) + (features[:, 3] % 3 == 1)
    labels = (score + random.normal(scale=0.3, size=ROWS) > 0.4).astype(numpy.float64)
    return features[rank::size], labels[rank::size]


def train(rank, size, **network):
    features, labels = data(rank, size)
    dataset = lightgbm.Dataset(features, labels, categorical_feature=[3])
    parameters = {**PARAMETERS, "num_machines": size, **network}
    return lightgbm.train(parameters, dataset, num_boost_round=ROUNDS).model_to_string()


def over_libmdist(library):
    network = ctypes.CDLL(library)
    rank, size = ctypes.c_int32(), ctypes.c_int32()
    network.network_begin(ctypes.byref(rank), ctypes.byref(size))
    functions = [ctypes.cast(function, ctypes.c_void_p)
                 for function in (network.network_reduce_scatter, network.network_all_gather)]
    if _LIB.LGBM_NetworkInitWithFunctions(size, rank, *functions) != 0:
        sys.exit(ctypes.string_at(_LIB.LGBM_GetLastError()).decode())
    model = train(rank.value, size.value)
    _LIB.LGBM_NetworkFree()
    network.network_end()
    return model


def over_sockets(ports, rank):
    machines = ",".join(f"127.0.0.1:{port}" for port in ports)
    return train(rank, len(ports), machines=machines, local_listen_port=int(ports[rank]), time_out=2)


def main():
    path, where, *rank = sys.argv[1:]
    model = over_sockets(where.split(","), int(rank[0])) if rank else over_libmdist(where)
    with open(path, "w", encoding="utf-8") as out:
        out.write(model)


main()
