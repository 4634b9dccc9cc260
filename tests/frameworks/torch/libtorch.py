# SPDX-License-Identifier: Apache-2.0
"""Builds fashion.cpp with the libtorch that PyTorch's package brings, and checks what it prints."""
import os
import re
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
FASHION_MNIST = Path("/usr/share/datasets/fashion-mnist")


def build(folder):
    import torch  # here, so that who only asks for other parts does not wait for it

    torch_folder = Path(torch.__file__).parent
    library = Path(os.environ["FRAMEWORKS_BUILD"]) / "lib"
    program, reader = folder / "fashion", folder / "mnist.o"
    subprocess.run(["cc", "-O2", "-c", ROOT / "examples/fashion_mnist/mnist.c", "-o", reader], check=True)
    subprocess.run(
        ["c++", "-std=c++20", "-O1", "-Wall", "-Werror", f"-D_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}",
         f"-I{ROOT / 'include'}", f"-I{ROOT / 'examples/fashion_mnist'}",
         "-isystem", torch_folder / "include", "-isystem", torch_folder / "include/torch/csrc/api/include",
         HERE / "fashion.cpp", reader, "-o", program, f"-L{torch_folder / 'lib'}", "-ltorch", "-ltorch_cpu", "-lc10",
         f"-L{library}", "-lmdist", "-lz", f"-Wl,-rpath,{torch_folder / 'lib'}"], check=True)
    return program


def layout(program, workers, replicas, *options):
    command = [str(program), *options]
    if workers > 1:
        command = ["mdist", "launch", "-n", str(workers), "--no-prefix", "--", *command]
    done = subprocess.run(command, text=True, capture_output=True, timeout=600, check=False,
                          env={**os.environ, "MDIST_DEVICES": f"cpu*{replicas}", "OMP_NUM_THREADS": "1"})
    digests = re.findall(r"^digest (\w+)$", done.stdout, re.M)
    ok = done.returncode == 0 and len(digests) == workers * replicas and len(set(digests)) == 1
    return (digests[0] if ok else None), done.stdout + done.stderr


def number(name, output):
    found = re.search(rf"^{name} (.*)$", output, re.M)
    return [float(one) for one in found[1].split()] if found else [float("inf")]


def check(say):
    """Calls say(ok, what, output) for each claim."""
    if not FASHION_MNIST.is_dir():
        print("skip - libtorch: dataset-fashion-mnist is not installed")
        return
    with tempfile.TemporaryDirectory() as folder:
        program = build(Path(folder))
        for options in ([], ["accumulate"], ["clip"], ["unused"], ["save"]):
            found = {name: layout(program, *places, "20", *options)
                     for name, places in {"1x2": (1, 2), "2x1": (2, 1), "1x4": (1, 4), "2x2": (2, 2)}.items()}
            everything = "\n".join(output for _, output in found.values())
            for pair in (("1x2", "2x1"), ("1x4", "2x2")):
                digests = {found[name][0] for name in pair}
                say(len(digests) == 1 and None not in digests, f"libtorch: {' = '.join(pair)} bit for bit {options}",
                    everything)
            difference = max(number("difference", output)[0] for _, output in found.values())
            say(difference < 1e-5, f"libtorch: after 20 steps, weights differ from those of one process by "
                                   f"{difference:.2g} {options}", everything)
            if "save" in options:
                say(all(number("saved", output) == [1] for _, output in found.values()),
                    "libtorch: a module is saved and read", everything)
        _, output = layout(program, 2, 1, "20", "killed")
        say("fashion: worker 1 " in output and "is lost" in output,
            "libtorch: a worker that is killed in its backward pass is an exception on the other", output)
        digest, output = layout(program, 2, 1, "930", "accuracy")
        ours, theirs = (number("accuracy", output) * 2)[:2]
        say(digest is not None and abs(ours - theirs) < 0.003,
            f"libtorch: after an epoch, accuracy is {ours} with two workers and {theirs} with one process", output)
