# SPDX-License-Identifier: Apache-2.0
"""The package itself: its version, its hints and docstrings, what mypy says, and whether pip can install it, with or
without the library in it."""
import enum
import importlib.util
import inspect
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import typing
import unittest

import mdist

FOLDER = pathlib.Path(__file__).resolve().parents[1]
TYPED = '''
import mdist
import numpy as np

def step(replica: mdist.Replica, x: np.ndarray) -> np.ndarray:
    replica.all_reduce("sum", x)
    work: mdist.Work = replica.all_reduce_start(mdist.ReduceOp.MAX, x, timeout=1.5)
    work.wait()
    return x

with mdist.Strategy(devices="cpu*2") as strategy:
    gradients = mdist.Gradients(strategy, [("float32", (3,))], op="mean")
    count: int = strategy.replica_count
    strategy.run(step, np.ones(3, np.float32), results=1)
    epoch: str = mdist.Checkpoint(strategy, "folder")["epoch"]
    {line}
'''
# (a line, what mypy must say of it, or None)
LINES = [
    ("pass", None),
    ("count = strategy.device(0)", 'expression has type "str", variable has type "int"'),
    ("strategy.rum(step)", '"Strategy" has no attribute "rum"'),
    ("strategy.run(step, timeout='1s')", r'expected "(Optional\[float\]|float \| None)"'),
    ("mdist.Gradients(strategy, [], op=1.5)", r'expected "(Union\[ReduceOp, str\]|ReduceOp \| str)"'),
]


def public():
    """(name, function or property's function) of all that programs call."""
    for name in mdist.__all__:
        thing = getattr(mdist, name)
        if inspect.isfunction(thing):
            yield name, thing
        elif inspect.isclass(thing) and thing.__module__.startswith("mdist") and not issubclass(thing, enum.Enum):
            for base in thing.__mro__:
                if base.__module__.startswith("mdist") and base.__module__ != "mdist._abi":
                    yield from methods(f"{name}.", vars(base))


def methods(prefix, members):
    for name, member in members.items():
        function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
        if inspect.isfunction(function) and not name.startswith("_"):
            yield prefix + name, getattr(function, "__wrapped__", function)


def pip(*arguments, **environment):
    environment = {**os.environ, "PIP_ROOT_USER_ACTION": "ignore", **environment}
    return subprocess.run([sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", *arguments],
                          capture_output=True, text=True, env=environment)


class Package(unittest.TestCase):
    def test_the_version_is_that_of_the_library(self):
        numbers = [int(one) for one in mdist.__version__.split(".")]
        self.assertEqual(numbers, [mdist.VERSION_MAJOR, mdist.VERSION_MINOR, mdist.VERSION_PATCH])
        self.assertEqual(mdist.version(), 10000 * numbers[0] + 100 * numbers[1] + numbers[2])

    def test_all_that_is_public_has_hints_and_says_what_it_does(self):
        seen = 0
        for name, function in public():
            with self.subTest(name):
                seen += 1
                parameters = [one for one in inspect.signature(function).parameters.values()
                              if one.name not in ("self", "cls")]
                self.assertEqual([one.name for one in parameters if one.annotation is one.empty], [])
                self.assertIn("return", function.__annotations__)
                self.assertTrue(function.__doc__, "no docstring")
        self.assertGreater(seen, 100)

    def test_names_are_exported_once(self):
        self.assertEqual(len(mdist.__all__), len(set(mdist.__all__)))
        self.assertTrue(typing.TYPE_CHECKING or (FOLDER / "mdist" / "py.typed").exists())

    def test_importing_it_does_not_import_torch(self):
        code = "import mdist, sys; print('torch' in sys.modules, 'mdist.torch' in sys.modules)"
        found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=FOLDER)
        self.assertEqual(found.stdout.split(), ["False", "False"], found.stderr)

    def test_an_error_is_named_as_before(self):
        self.assertEqual((mdist.Error.__module__, mdist.Error.__qualname__), ("mdist", "Error"))


@unittest.skipUnless(importlib.util.find_spec("mypy"), "mypy is not installed (Debian: python3-mypy)")
class Hints(unittest.TestCase):
    def mypy(self, *arguments, folder=FOLDER):
        return subprocess.run([sys.executable, "-m", "mypy", f"--cache-dir={self.cache}", *map(str, arguments)],
                              capture_output=True, text=True, cwd=folder, env={**os.environ, "MYPYPATH": str(FOLDER)})

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.cache = pathlib.Path(temporary.name, "cache")
        self.program = pathlib.Path(temporary.name, "program.py")

    def test_mypy_finds_nothing_in_the_package(self):
        found = self.mypy()
        self.assertEqual(found.returncode, 0, found.stdout + found.stderr)

    def test_mypy_finds_mistakes_in_programs(self):
        for line, said in LINES:
            with self.subTest(line):
                self.program.write_text(TYPED.format(line=line))
                found = self.mypy("--ignore-missing-imports", self.program, folder=self.program.parent)
                if said is None:
                    self.assertEqual(found.returncode, 0, found.stdout + found.stderr)
                else:
                    self.assertRegex(found.stdout, said)


@unittest.skipUnless(all(map(importlib.util.find_spec, ("pip", "setuptools", "wheel"))),
                     "pip, setuptools or wheel is missing (Debian: python3-pip, python3-setuptools, python3-wheel)")
class Installation(unittest.TestCase):
    """Installs it elsewhere, offline. It is built from a copy, since setuptools writes beside its source."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.source = self.folder / "source"
        (self.source / "mdist/torch").mkdir(parents=True)
        files = [*FOLDER.glob("mdist/*.py"), *FOLDER.glob("mdist/torch/*.py"), FOLDER / "_mdist_for_torch.py",
                 FOLDER / "mdist" / "py.typed", *FOLDER.glob("*.toml"), FOLDER / "setup.py",
                 FOLDER / "README.md"]
        for file in files:
            (self.source / file.relative_to(FOLDER)).write_bytes(file.read_bytes())

    def run_installed(self, target, code, **environment):
        kept = {name: value for name, value in os.environ.items()
                if name not in ("LD_LIBRARY_PATH", "MDIST_LIBRARY", "PKG_CONFIG_PATH")}
        return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=self.folder,
                              env={**kept, "PYTHONPATH": str(target), **environment})

    def test_pip_installs_it_without_a_network(self):
        target = self.folder / "installed"
        done = pip("install", "--no-index", "--no-build-isolation", "--no-deps", "--no-compile", f"--target={target}",
                   str(self.source))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for file in ("mdist/py.typed", "mdist/torch/__init__.py", "_mdist_for_torch.py"):
            self.assertTrue((target / file).exists(), file)
        found = self.run_installed(target, "import mdist; print(mdist.__version__, mdist.__file__)",
                                   LD_LIBRARY_PATH=os.environ.get("LD_LIBRARY_PATH", ""))
        self.assertEqual(found.stdout.split(), [mdist.__version__, str(target / "mdist" / "__init__.py")], found.stderr)
        found = self.run_installed(target, "import mdist", MDIST_LIBRARY="/nowhere/libmdist.so.2")
        self.assertRegex(found.stderr, r"ImportError: cannot load libmdist \(/nowhere/libmdist.so.2: .*MDIST_LIBRARY")

    def test_a_wheel_can_bring_the_library(self):
        done = pip("wheel", "--no-index", "--no-build-isolation", "--no-deps", f"--wheel-dir={self.folder}",
                   str(self.source), MDIST_BUNDLE=self.library())
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        (wheel,) = self.folder.glob("*.whl")
        self.assertRegex(wheel.name, rf"^mdist-{mdist.__version__}-py3-none-linux_\w+\.whl$")
        target = self.folder / "installed"
        done = pip("install", "--no-index", "--no-deps", "--no-compile", f"--target={target}", str(wheel))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        code = ("import mdist; print(mdist.version()); "
                "print(*{line.split()[-1] for line in open('/proc/self/maps') if 'libmdist' in line})")
        found = self.run_installed(target, code)
        self.assertEqual(found.stdout.split(), [str(mdist.version()), str(target / "mdist/_bundle/lib/libmdist.so.2")],
                         found.stderr)
        self.assertFalse((target / "bin/mdist").exists())
        brought = {file.name for file in (target / "mdist/_bundle/lib").iterdir()}
        self.assertTrue({"libmdist.so.2", "libyaml-0.so.2"} <= brought and "libc.so.6" not in brought, brought)
        code = "import mdist; print(*{line.split()[-1] for line in open('/proc/self/maps') if 'libyaml' in line})"
        found = self.run_installed(target, code)
        self.assertEqual(found.stdout.split(), [str(target / "mdist/_bundle/lib/libyaml-0.so.2")], found.stderr)

    def test_a_wheel_can_bring_the_program_as_a_command(self):
        installation, target = self.folder / "installation", self.folder / "installed"
        (installation / "lib/x86_64-linux-gnu").mkdir(parents=True)
        (installation / "bin").mkdir()
        shutil.copy(self.library(), installation / "lib/x86_64-linux-gnu/libmdist.so.2")
        (installation / "bin/mdist").write_text("#!/bin/sh\necho \"$0\" \"$@\"\n")
        (installation / "bin/mdist").chmod(0o755)
        done = pip("install", "--no-index", "--no-build-isolation", "--no-deps", "--no-compile", f"--target={target}",
                   str(self.source), MDIST_BUNDLE=str(installation))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        environment = {**os.environ, "PYTHONPATH": str(target), "PATH": f"{target / 'bin'}:/usr/bin:/bin"}
        environment.pop("MDIST_LIBRARY", None)
        for command in ([str(target / "bin/mdist")], [sys.executable, "-m", "mdist"]):
            found = subprocess.run([*command, "launch", "-n", "2"], capture_output=True, text=True, env=environment)
            self.assertEqual(found.stdout, f"{target / 'mdist/_bundle/bin/mdist'} launch -n 2\n", found.stderr)
        (target / "mdist/_bundle/bin/mdist").unlink()  # then the command must not run itself
        found = subprocess.run(["mdist", "version"], capture_output=True, text=True, env=environment, cwd=self.folder)
        self.assertIn("there is no program mdist at", found.stderr)

    def test_a_library_that_libmdist_needs_is_named(self):
        (self.folder / "libneeded.c").write_text("")
        (self.folder / "libmdist.c").write_text("")
        compiler = ["cc", "-shared", "-fPIC", "-Wl,--no-as-needed"]
        library, needed = self.folder / "libmdist.so.2", self.folder / "libneeded.so"
        subprocess.run([*compiler, "-Wl,-soname,libneeded.so", self.folder / "libneeded.c", "-o", needed], check=True)
        subprocess.run([*compiler, self.folder / "libmdist.c", needed, "-o", library], check=True)
        needed.unlink()
        found = self.run_installed(FOLDER, "import mdist", MDIST_LIBRARY=str(library))
        self.assertIn(f"ImportError: cannot load libmdist ({library} needs libneeded.so, which the loader does not "
                      "find). Install the library libneeded.so", found.stderr)

    def test_the_module_runs_the_program_beside_the_library(self):
        (self.folder / "build/lib").mkdir(parents=True)
        (self.folder / "build/src").mkdir()
        library, program = self.folder / "build/lib/libmdist.so.2", self.folder / "build/src/mdist"
        shutil.copy(self.library(), library)

        def run():
            return subprocess.run([sys.executable, "-m", "mdist", "launch", "-n", "2"], capture_output=True, text=True,
                                  cwd=FOLDER, env={**os.environ, "MDIST_LIBRARY": str(library), "PATH": "/nowhere"})

        found = run()
        self.assertEqual(found.returncode, 1)
        self.assertIn(f"there is no program mdist at {library.parent / 'mdist'}, ", found.stderr)
        self.assertIn(f"{program}, ", found.stderr)
        program.write_text("#!/bin/sh\necho \"$0\" \"$@\"\n")
        program.chmod(0o755)
        self.assertEqual(run().stdout, f"{program} launch -n 2\n")

    def test_a_bundle_that_is_not_there_is_refused(self):
        done = subprocess.run([sys.executable, "setup.py", "--quiet", "build"], capture_output=True, text=True,
                              cwd=self.source, env={**os.environ, "MDIST_BUNDLE": "/nowhere/libmdist.so.2"})
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("MDIST_BUNDLE names '/nowhere/libmdist.so.2', which is neither a file nor a folder",
                      done.stdout + done.stderr)

    def library(self):
        """The file of the library that this process has loaded."""
        with open("/proc/self/maps") as maps:
            return next(line.split()[-1] for line in maps if "/libmdist.so" in line)
