# SPDX-License-Identifier: Apache-2.0
"""Programs compiled against the headers of an earlier version run with this library: see kept/README.md.

Two judges compare the headers: abidiff, and header_model. abidiff can only be told to accept any change of a struct that
may grow, so header_model alone sees to the fields of those."""
import functools
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile
import unittest

import header_model
import public_headers
import stub

COMPILER = sys.argv[1:] or ["cc"]
del sys.argv[1:]

KEPT = sorted(folder.parent for folder in (pathlib.Path(__file__).parent / "kept").glob("*/include"))
INCLUDE = public_headers.ROOT / "include"
NUMBER_OF_VERSION = "MDIST_VERSION"


@functools.cache  # no folder changes once it is read
def model_of(include):
    public_headers.FOLDER = include / "mdist"
    return header_model.read()


def grows(struct):
    return struct.fields[0].name == "struct_size"


def breaks(kept, now):
    """Says what a program of the kept headers would find changed."""
    for name, one in kept.functions.items():
        other = now.functions.get(name)
        if other is None or (one.result, types(one)) != (other.result, types(other)):
            yield f"function {name}"
    for name, one in kept.function_types.items():
        other = now.function_types.get(name)
        if other is None or (one.result, types(one)) != (other.result, types(other)):
            yield f"function type {name}"
    for name, one in kept.structs.items():
        other = now.structs.get(name)
        if other is None or one.fields != (other.fields[: len(one.fields)] if grows(one) else other.fields):
            yield f"struct {name}"
    for name, one in kept.enums.items():
        other = now.enums.get(name)
        if other is None or not one.members.items() <= other.members.items():
            yield f"enum {name}"
    yield from (f"handle {name}" for name in kept.handles if name not in now.handles)
    yield from (f"macro {name}" for name, number in kept.macros.items()
                if now.macros.get(name) != number and not name.startswith(NUMBER_OF_VERSION))


def types(function):
    return [parameter.type for parameter in function.parameters]


def suppressions(model):
    """Tells abidiff which structs may grow at their end."""
    names = "|".join(name.removesuffix("_t") for name, one in model.structs.items() if grows(one))
    return (f"[suppress_type]\n  type_kind = struct\n  name_regexp = ^({names})$\n  has_data_member_inserted_at = end\n"
            "  has_size_change = yes\n")  # abidiff 2.6 asks for it, and that of Debian 12 does not know it


def changed_by_abidiff(version, include):
    """Returns abidiff's report; empty if nothing changed that a program could notice."""
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made)
        stub.make_stub(include, folder / "now.so", COMPILER)
        before = version / "x86_64.abi"
        if platform.machine() != "x86_64" or not before.exists():
            before = folder / "before.so"
            stub.make_stub(version / "include", before, COMPILER)
        (folder / "suppressions").write_text(suppressions(model_of(version / "include")))
        compared = subprocess.run(["abidiff", "--no-added-syms", "--suppressions", folder / "suppressions", before,
                                   folder / "now.so"], text=True, capture_output=True)
        return "" if compared.returncode == 0 else compared.stdout + compared.stderr + f"status {compared.returncode}"


class Kept(unittest.TestCase):
    def test_nothing_has_changed_for_programs_of_a_kept_version(self):
        for version in KEPT:
            with self.subTest(version=version.name):
                self.assertEqual(list(breaks(model_of(version / "include"), model_of(INCLUDE))), [])

    @unittest.skipUnless(shutil.which("abidiff"), "abidiff is not on the PATH (package abigail-tools)")
    def test_abidiff_says_the_same(self):
        for version in KEPT:
            with self.subTest(version=version.name):
                self.assertEqual(changed_by_abidiff(version, INCLUDE), "")


# What the judges say of a change to the headers of a kept version: file, before, after, who sees a break.
BOTH = ("model", "abidiff")
CHANGES = {
    "a new function": ("work.h", "MDIST_API void mdist_work_destroy", "MDIST_API uint32_t mdist_work_new(void);\n"
                       "MDIST_API void mdist_work_destroy", ()),
    "a new enumerator": ("cluster.h", "    MDIST_TASK_PS        = 4,", "    MDIST_TASK_PS = 4, MDIST_TASK_NEW = 5,", ()),
    "a new field at the end of options": ("dataset.h", "} mdist_dataset_options_t;",
                                          "uint32_t more; uint64_t others; } mdist_dataset_options_t;", ()),
    "a new field inside of options": ("dataset.h", "uint32_t parallel_calls;",
                                      "uint32_t more; uint32_t parallel_calls;", BOTH),
    "another type of an option": ("dataset.h", "uint32_t parallel_calls;", "uint64_t parallel_calls;", ("model",)),
    "a longer tensor": ("tensor.h", "} mdist_tensor_t;", "uint64_t more; } mdist_tensor_t;", BOTH),
    "another number": ("cluster.h", "MDIST_TASK_PS        = 4", "MDIST_TASK_PS = 5", BOTH),
    "a lost enumerator": ("cluster.h", "    MDIST_TASK_PS        = 4,\n", "", BOTH),
    "another macro": ("base.h", "#define MDIST_NONE 0xffffffff", "#define MDIST_NONE 0xfffffffe", ("model",)),
    "another result": ("strategy.h", "uint32_t mdist_strategy_rank(", "int32_t mdist_strategy_rank(", BOTH),
    "another name": ("strategy.h", "uint32_t mdist_strategy_rank(", "uint32_t mdist_strategy_number(", BOTH),
    "another order": ("strategy.h", "size_t index, const char *path,", "const char *path, size_t index,", BOTH),
    "a callback with more": ("strategy.h", "(*mdist_step_fn)(mdist_replica_t *replica, void *user_data)",
                             "(*mdist_step_fn)(mdist_replica_t *replica, void *user_data, int32_t more)", BOTH),
}

LATELY_SEEN = {"another type of an option"}  # by abidiff 2.6, but not by that of Debian 12


class Judges(unittest.TestCase):
    def test_breaks_are_seen_and_additions_are_not(self):
        version = INCLUDE.parent  # today's headers stand for a version
        for change, (file, before, after, expected) in CHANGES.items():
            with self.subTest(change=change), tempfile.TemporaryDirectory() as made:
                include = pathlib.Path(made) / "include"
                shutil.copytree(version / "include", include)
                header = include / "mdist" / file
                self.assertIn(before, header.read_text())
                header.write_text(header.read_text().replace(before, after, 1))
                judges = {"model": breaks(model_of(version / "include"), model_of(include))}
                if shutil.which("abidiff") and change not in LATELY_SEEN:
                    judges["abidiff"] = changed_by_abidiff(version, include)
                found = tuple(judge for judge, said in judges.items() if (said if isinstance(said, str) else list(said)))
                self.assertEqual(found, tuple(judge for judge in expected if judge in judges))


if __name__ == "__main__":
    unittest.main(verbosity=2)
