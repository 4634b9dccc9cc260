# SPDX-License-Identifier: Apache-2.0
"""Calls: builds the loop of collectives.c for its contestants, and runs it. `collectives` and `gbdt` share it."""
import dataclasses
import os
import re
import shutil
import subprocess

from contestants import HERE, PACKAGES, STARTERS
from launch import Failed, Place, Skipped, free_ports, said_by

GBDT_BYTES = 102400  # what LightGBM sends at a time
LIMIT = 300  # seconds for the processes of one contestant
LINE = re.compile(r"(\w+) bytes=(\d+) ns=([\d.]+) cpu_ns=([\d.]+) wrong=(\d+)")
QUIET = {"MDIST_LOG_LEVEL": "error"}
# More ranks than cores, or other programs: Open MPI's ranks give their core away between looks.
YIELDING = {"OMPI_MCA_mpi_yield_when_idle": "1"}


@dataclasses.dataclass(frozen=True)
class Caller:
    """A contestant: a program, and the variables that choose its way."""
    name: str
    kind: str  # mdist, openmpi, sockets
    variables: tuple = ()  # of (name, value)
    library: str = ""  # folder of libmdist


def mdist(name, library, way="auto"):
    variables = {**QUIET, "MDIST_COMMUNICATION_IMPLEMENTATION": way}
    return Caller(name, "mdist", tuple(variables.items()), str(library))


def openmpi(name, tcp=False):
    variables = {**YIELDING, **({"OMPI_MCA_btl": "tcp,self"} if tcp else {})}
    return Caller(name, "openmpi", tuple(variables.items()))


def sockets(name):
    return Caller(name, "sockets")


def compile_line(caller, target):
    sources = [str(HERE / "collectives.c"), str(HERE / f"collectives_{caller.kind}.c")]
    if caller.kind == "openmpi":
        return ["mpicc.openmpi", "-O3", sources[0], str(HERE / "collectives_mpi.c"), "-o", target]
    if caller.kind == "sockets":
        return ["gcc", "-O3", *sources, "-lpthread", "-o", target]
    if not os.path.exists(f"{caller.library}/libmdist.so"):
        raise Skipped(f"{caller.library}/libmdist.so is not built")
    return ["gcc", "-O3", "-I", str(HERE.parents[2] / "include"), *sources, "-L", caller.library, "-lmdist",
            f"-Wl,-rpath,{caller.library}", "-o", target]


def target_of(caller, folder):
    return str(folder / re.sub(r"\W+", "_", caller.name))


def build(callers, folder):
    """Returns (those that could be built, {name: why another could not})."""
    built, missing = [], {}
    for caller in callers:
        try:
            line = compile_line(caller, target_of(caller, folder))
            if shutil.which(line[0]) is None:
                raise Skipped(f"{line[0]} is not installed (apt-get install {PACKAGES.get(caller.kind, 'gcc')})")
            result = subprocess.run(line, capture_output=True, text=True)
            if result.returncode != 0:
                raise Skipped(f"does not compile: {result.stderr.strip().splitlines()[0]}")
            built.append(caller)
        except Skipped as reason:
            missing[caller.name] = str(reason)
    return built, missing


def plain_sockets(place, command, variables):
    ports = ",".join(map(str, free_ports(place.workers)))
    return [(command, {**variables, "PEER_RANK": str(rank), "PEER_SIZE": str(place.workers), "PEER_PORTS": ports})
            for rank in range(place.workers)]


def parsed(said):
    """Returns {(collective, bytes): (us, us of processor time)}. Raises Failed if an element was wrong."""
    found = LINE.findall(said)
    for name, size, _, _, wrong in found:
        if wrong != "0":
            raise Failed(f"{name} of {size} bytes: {wrong} wrong elements")
    return {(name, int(size)): (float(ns) / 1e3, float(cpu) / 1e3) for name, size, ns, cpu, _ in found}


def times(caller, workers, chosen, sizes, folder):
    """Runs a contestant once. Returns what parsed() does."""
    place, variables = Place(workers, False), dict(caller.variables)
    command = [target_of(caller, folder), ",".join(chosen), *map(str, sizes)]
    if caller.kind == "sockets":
        lines = plain_sockets(place, command, variables)
    else:
        lines = STARTERS[caller.kind](place, command, variables, folder)
    return parsed(said_by(lines, LIMIT))
