# SPDX-License-Identifier: Apache-2.0
"""Contestants: how each is built, and which processes it takes at a place.

A family is a column of the table. Its variants are the ways to run it; for each size the fastest of them counts.
"""
import dataclasses
import os
import pathlib
import shutil
import subprocess
import tempfile

import pypi
from launch import Skipped, free_ports

HERE = pathlib.Path(__file__).resolve().parent
RSH = str(HERE.parents[1] / "support" / "host_rsh")

# Buffers that MPI allocates and frees in each call stay with the process.
HEAP_KEPT = {"MALLOC_TOP_PAD_": str(1 << 29), "MALLOC_MMAP_THRESHOLD_": str(1 << 30)}
NO_CMA = {"OMPI_MCA_btl_vader_single_copy_mechanism": "none"}
RING = {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1", "OMPI_MCA_coll_tuned_allreduce_algorithm": "4"}

SHM = {"I_MPI_FABRICS": "shm"}  # Intel MPI looks for a network otherwise, and may not start
AVX2 = {**SHM, "I_MPI_SHM": "bdw_avx2"}
# What was fastest somewhere, of some fifty settings that were tried.
TUNED = {
    "openmpi5": {"UCX": {"OMPI_MCA_pml": "ucx", "OMPI_MCA_pml_ucx_tls": "any", "OMPI_MCA_pml_ucx_devices": "any"},
                 "no single copies": {"OMPI_MCA_smsc": "^cma", "OMPI_MCA_btl_sm_eager_limit": "65536"}, "ring": RING},
    "mpich5": {"shared memory": {}, "messages": {"MPIR_CVAR_ALLREDUCE_POSIX_INTRA_ALGORITHM": "mpir"}},
    "impi": {"avx2": AVX2, "doubling": {**AVX2, "I_MPI_ADJUST_ALLREDUCE": "1"},
             "ring": {**AVX2, "I_MPI_ADJUST_ALLREDUCE": "8"}},
}

PACKAGES = {"openmpi": "openmpi-bin libopenmpi-dev", "mpich": "mpich libmpich-dev", "gloo": "libgloo-dev"}


@dataclasses.dataclass(frozen=True)
class Variant:
    family: str
    program: str  # of STARTERS
    name: str
    arguments: tuple = ()
    variables: tuple = ()  # of (name, value)


def placements(family, program, variables=(), arguments=()):
    variables = tuple(dict(variables).items())
    return [Variant(family, program, "in place", tuple(arguments), variables),
            Variant(family, program, "separate", (*arguments, "--separate"), variables)]


def today(family, program, variables=()):
    """Returns a release of PyPI, as shipped and at its best."""
    best = [dataclasses.replace(one, name=f"{name}, {one.name}") for name, tuned in TUNED[program].items()
            for one in placements(f"{family}, best", program, {**tuned, **HEAP_KEPT})]
    return [*placements(family, program, variables), *best]


def variants(between_hosts):
    gloo = [Variant("Gloo", "gloo", algorithm, ("--algorithm", algorithm))
            for algorithm in ("ring", "bcube", "halving_doubling", "ring_chunked")]
    own = placements("libmdist", "mdist")
    if between_hosts:
        return [*placements("Open MPI", "openmpi"), *placements("Open MPI, ring", "openmpi", {**RING, **HEAP_KEPT}),
                *placements("MPICH", "mpich"), *gloo, *own]
    return [*placements("Open MPI", "openmpi"), *placements("Open MPI, best", "openmpi", {**NO_CMA, **HEAP_KEPT}),
            *placements("MPICH", "mpich"), *gloo, *today("Open MPI 5", "openmpi5"), *today("MPICH 5", "mpich5"),
            *today("Intel MPI", "impi", SHM), *own,
            *placements("libmdist, own memory", "mdist", arguments=("--memory", "library")),
            *(Variant(f"floor, {way}", "exchange", "bare", ("--algorithm", way)) for way in ("pull", "push"))]


def compile_lines(program, target, build, from_pypi):
    """Returns the compiler's command lines. Raises Skipped if something is missing."""
    loop = str(HERE / "loop.c")
    if program in pypi.PACKAGES:
        if not from_pypi:
            raise Skipped("not asked for (--pypi)")
        environment = pypi.environment(program, build)
        os.symlink(environment, f"{target}.environment")
        return [["gcc", "-O3", str(HERE / "mpi.c"), loop, "-I", f"{environment}/include", "-L", f"{environment}/lib",
                 "-lmpi", f"-Wl,-rpath,{environment}/lib", "-o", target]]
    if program in ("openmpi", "mpich"):
        return [[f"mpicc.{program}", "-O3", str(HERE / "mpi.c"), loop, "-o", target]]
    if program == "gloo":
        if not os.path.exists("/usr/include/gloo/allreduce.h"):
            raise Skipped("Gloo's headers are not there")
        return [["gcc", "-O3", "-c", loop, "-o", f"{target}.loop.o"],
                ["g++", "-std=c++17", "-O3", str(HERE / "gloo.cpp"), f"{target}.loop.o", "-lgloo", "-lpthread",
                 "-o", target]]
    if program == "exchange":
        return [["gcc", "-O3", "-march=native", str(HERE / "exchange.c"), loop, "-o", target]]
    folder = str(build.resolve() / "lib")
    if not os.path.exists(f"{folder}/libmdist.so"):
        raise Skipped(f"{folder}/libmdist.so is not built")
    return [["gcc", "-O3", "-I", str(HERE.parents[2] / "include"), str(HERE / "mdist.c"), loop, "-L", folder,
             "-lmdist", f"-Wl,-rpath,{folder}", "-o", target]]


def make(program, folder, build, from_pypi=False):
    """Builds the contestant into `folder`. Raises Skipped with the reason and what to install.
    `from_pypi`: also those whose libraries come from there."""
    install = f" (apt-get install {PACKAGES[program]})" if program in PACKAGES else ""
    try:
        for line in compile_lines(program, str(folder / program), build, from_pypi):
            if shutil.which(line[0]) is None:
                raise Skipped(f"{line[0]} is not installed")
            result = subprocess.run(line, capture_output=True, text=True)
            if result.returncode != 0:
                raise Skipped(f"does not compile: {result.stderr.strip().splitlines()[0]}")
        if program in ("openmpi", "mpich") and shutil.which(f"mpirun.{program}") is None:
            raise Skipped(f"mpirun.{program} is not installed")
    except Skipped as reason:
        raise Skipped(f"{reason}{install}") from None


def openmpi(place, command, variables, _scratch):
    line = ["mpirun.openmpi", "-np", str(place.workers)]
    if os.geteuid() == 0:
        line += ["--allow-run-as-root"]
    if not place.between_hosts:
        return [(line + ["--oversubscribe"] + command, variables)]
    line += ["--host", place.hosts(), "--mca", "plm_rsh_agent", RSH, "--mca", "plm_rsh_no_tree_spawn", "1",
             "--mca", "btl", "tcp,self" if place.per_host == 1 else "vader,tcp,self",
             "--mca", "btl_tcp_if_include", "eth0",
             "--mca", "oob_tcp_if_include", "10.78.0.0/24"]
    # Open MPI sees the cores of one host, but all hosts share them. Without this it spins, and 4 KiB takes a time slice.
    line += ["--mca", "mpi_yield_when_idle", "1"]
    for name, value in variables.items():
        line += ["-x", name] if not name.startswith("OMPI_MCA_") else ["--mca", name[len("OMPI_MCA_"):], value]
    return [(line + command, variables)]


def mpich(place, command, variables, _scratch):
    line = ["mpirun.mpich", "-np", str(place.workers)]
    if place.between_hosts:
        line += ["-launcher", "ssh", "-launcher-exec", RSH, "-localhost", "10.78.0.254", "-hosts", place.hosts()]
    return [(line + command, variables)]


def gloo(place, command, variables, scratch):
    store = tempfile.mkdtemp(dir=scratch)
    return [(place.start(rank) + command,
             {**variables, "PEER_RANK": str(rank), "PEER_SIZE": str(place.workers), "PEER_STORE": store,
              "PEER_ADDRESS": place.address(rank)}) for rank in range(place.workers)]


def mdist(place, command, variables, _scratch):
    store = f"{place.address(0)}:{free_ports(1)[0]}"
    return [(place.start(rank) + command,
             {**variables, "MDIST_RANK": str(rank), "MDIST_SIZE": str(place.workers), "MDIST_STORE": store,
              "MDIST_DEVICES": "cpu*1"}) for rank in range(place.workers)]


def exchange(place, command, variables, _scratch):
    return [(command, {**variables, "PEER_SIZE": str(place.workers)})]  # it forks the workers


STARTERS = {"openmpi": openmpi, "mpich": mpich, "gloo": gloo, "exchange": exchange, "mdist": mdist,
            **{program: pypi.starter(program) for program in pypi.PACKAGES}}


def commands(variant, place, folder, sizes, seconds):
    """Returns (arguments, variables) for each process. `folder` has what make() built, and takes the processes' files."""
    command = [str(folder / variant.program), "--sizes", ",".join(map(str, sizes)), "--seconds", str(seconds),
               *variant.arguments]
    return STARTERS[variant.program](place, command, dict(variant.variables), folder)
