# SPDX-License-Identifier: Apache-2.0
"""Workers: processes that train LightGBM together, over libmdist or over LightGBM's own sockets."""
import os
import shlex
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parents[1] / "bench/peers"))

from launch import free_ports  # noqa: E402

TIMEOUT = 300


def compile_network(folder):
    library = folder / "network.so"
    flags = shlex.split(subprocess.run(["pkg-config", "--cflags", "--libs", "mdist"], check=True, capture_output=True,
                                       text=True).stdout)
    subprocess.run(["cc", "-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC",
                    str(HERE / "network.c"), "-o", str(library), *flags], check=True)
    return library


def run(folder, commands, rows):
    """Runs the workers (arguments, variables) at the same time. Returns what each has written, by worker. Shows what they
    say only if one fails: LightGBM tells of every connection."""
    paths = [folder / f"model{rank}" for rank in range(len(commands))]
    with (folder / "said").open("w+", encoding="utf-8") as said:
        processes = [subprocess.Popen([sys.executable, str(HERE / "train.py"), str(path), str(rows), *arguments],
                                      env={**os.environ, **variables}, stdout=said, stderr=said)
                     for path, (arguments, variables) in zip(paths, commands)]
        try:
            statuses = [process.wait(TIMEOUT) for process in processes]
        finally:
            for process in processes:
                process.kill()
        if any(statuses):
            said.seek(0)
            sys.exit(f"{said.read()}not ok - the workers ended with {statuses}")
    return paths


def over_sockets(folder, size, rows):
    ports = ",".join(map(str, free_ports(size)))
    return run(folder, [([ports, str(rank)], {}) for rank in range(size)], rows)


def over_libmdist(folder, size, rows, library, way):
    store = f"127.0.0.1:{free_ports(1)[0]}"
    job = {"MDIST_SIZE": str(size), "MDIST_STORE": store, "MDIST_DEVICES": "cpu*1", "MDIST_LOG_LEVEL": "error",
           "MDIST_COMMUNICATION_IMPLEMENTATION": way}
    return run(folder, [([str(library)], {**job, "MDIST_RANK": str(rank)}) for rank in range(size)], rows)
