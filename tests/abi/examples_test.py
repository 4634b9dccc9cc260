# SPDX-License-Identifier: Apache-2.0
"""The first comment of each public header has an example of three to eight lines, which compiles and runs. So do the
examples of the versions in kept/, compiled against their own headers, with this library.

An example is the indented text below a line "Example:" or "Example, ...:". If that line says "in a step", the example
is the body of a step that runs on two replicas; else it is the body of a function. Functions of its own begin with
"static". mdist.h says what examples use and what they leave out. PROLOGUE has what they use, and the functions that a
comment calls "yours".

A call that fails ends the program, unless the example names that status."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import public_headers
from public_headers import declarations, headers

LIBRARY = pathlib.Path(sys.argv.pop(1)).resolve()
COMPILER = []
while len(sys.argv) > 1:
    COMPILER.append(sys.argv.pop(1))

INCLUDE = public_headers.FOLDER.parent
KEPT = sorted((pathlib.Path(__file__).parent / "kept").glob("*/include"))
WITHOUT = {"mdist"}  # it only includes the other headers
FIRST_SCREEN = 40
LINES = range(3, 9)
EXAMPLE = re.compile(r"^ \* (Example[^\n]*:)\n \*\n((?: \*     [^\n]+\n)+)", re.M)
FAMILY = re.compile(r"^ \* ([A-Z][^\n]*): `[^\n]*\n \*\n((?: \*     [^\n]+\n)+)", re.M)
FUNCTION = re.compile(r"^static .*?^}\n", re.M | re.S)
WARNINGS = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-Wno-unused-variable", "-Wno-unused-but-set-variable",
            "-Wno-unused-function", "-Wno-unused-parameter"]

PROLOGUE = r"""
#define _POSIX_C_SOURCE 200809L
#include <assert.h>
#include <mdist/mdist.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static float six[6] = {0, 1, 2, 3, 4, 5};
static mdist_tensor_t numbers = {six, MDIST_FLOAT32, 1, MDIST_DEVICE_CPU, 0, {6}};
static mdist_error_t *error;
static mdist_strategy_t *strategy;
static mdist_config_t *config;
static mdist_variable_t *weights;
static mdist_dataset_t *rows, *batches;
static mdist_iterator_t *iterator;
static mdist_gradients_t *gradients;

/* Of the first page alone. */
static mdist_value_t *value, *mean, *element;
static mdist_tensor_t tensor, mine, tensors[2], initial;
static mdist_variable_t *variable;
static mdist_dataset_t *dealt;
static mdist_checkpoint_t *checkpoint;

static int32_t step(mdist_replica_t *replica, void *user_data) { return mdist_barrier(replica, NULL, NULL); }
static int32_t take_larger(const void *left, const void *right, void *out, uint64_t count, void *user_data) {
    const float *a = left, *b = right;
    for (uint64_t i = 0; i < 2 * count; i += 2) memcpy((float *)out + i, a[i] < b[i] ? b + i : a + i, 2 * sizeof *a);
    return 0;
}
static void compute(void *with, void *stream) {}
static void compute_step(mdist_replica_t *replica) {}
static void compute_gradient(size_t layer) {}
static void change_variables(void) {}
static void save(void) {}

static mdist_status_t checked(mdist_status_t status, const char *call) {
    if (status >= MDIST_OK || strstr(may_fail_with, mdist_status_name(status)) != NULL) return status;
    fprintf(stderr, "%s gives %s: %s\n", call, mdist_status_name(status), mdist_error_message(error));
    _Exit(1);
}
"""

PREPARE = r"""
static void prepare(void) {
    const mdist_tensor_t layers[3] = {numbers, numbers, numbers};
    initial = tensors[0] = tensors[1] = numbers;
    mdist_strategy_create(NULL, &strategy, &error);
    mdist_config_create(&config, &error);
    mdist_variable_create(strategy, "weights", &numbers, &weights, NULL, &error);
    mdist_dataset_from_tensors(&numbers, 1, NULL, NULL, &rows, NULL, &error);
    mdist_dataset_batch(rows, 4, &batches, NULL, &error);
    mdist_iterator_create(batches, &iterator, &error);
    mdist_gradients_create(strategy, layers, 3, &gradients, NULL, &error);
}
"""

IN_A_STEP = r"""
static int32_t example(mdist_replica_t *replica, void *user_data) {
%s    return 0;
}
int example_%s(void) {
    prepare();
    mdist_value_t *result = NULL, *argument = NULL;
    mdist_value_create(&numbers, &argument, &error);
    const mdist_run_io_t io = {sizeof io, 0, &argument, 1, &result, 1, 0};
    mdist_run(strategy, example, NULL, &io, &error);
    return 0;
}
"""

OUTSIDE = r"""
static void example(void) {
%s}
int example_%s(void) {
    prepare();
    example();
    return 0;
}
"""


def example_of(path):
    source = path.read_text()
    return EXAMPLE.search(source, 0, source.index("\n */\n") + 1)


def text_of(found):
    return re.sub(r"^ \*     ", "", found.group(2), flags=re.M)


def checks():
    """Returns macros that pass the status of each call through checked()."""
    names = [one.name for one in declarations() if one.text.startswith("MDIST_API mdist_status_t ")]
    names = [name for name in names if not name.startswith("mdist_error_")]
    return "".join(f'#define {name}(...) checked({name}(__VA_ARGS__), "{name}")\n' for name in names)


def source_of(path, found):
    text = text_of(found)
    functions = FUNCTION.findall(text)
    body = FUNCTION.sub("", text)
    frame = IN_A_STEP if "in a step" in found.group(1) else OUTSIDE
    allowed = " ".join(sorted(set(re.findall(r"\bMDIST_ERR_\w+", text))))
    return "".join([f'static const char may_fail_with[] = "{allowed}";\n', PROLOGUE, checks(), PREPARE, *functions,
                    frame % (body, path.stem)])


def main_of(names):
    declared = "".join(f"int example_{name}(void);\n" for name in names)
    cases = "".join(f'    if (strcmp(arguments[1], "{name}") == 0) return example_{name}();\n' for name in names)
    return f"#include <string.h>\n{declared}int main(int count, char **arguments) {{\n{cases}    return count;\n}}\n"


def examples_below(include):
    """Returns header name -> (path, example or None). declarations() then reads these headers, too."""
    public_headers.FOLDER = include / "mdist"
    return {path.stem: (path, example_of(path)) for path in headers() if path.stem not in WITHOUT}


def first_page(include):
    """The same for the examples of the first page, mdist.h: one for each family of functions."""
    page = (include / "mdist" / "mdist.h").read_text().partition("\n */\n")[0]
    return {f"family_{number}": (pathlib.Path(f"family_{number}.h"), found) for number, found in enumerate(FAMILY.finditer(page))}


class Examples(unittest.TestCase):
    def test_each_header_has_a_short_example_on_its_first_screen(self):
        for name, (path, found) in examples_below(INCLUDE).items():
            with self.subTest(header=name):
                self.assertIsNotNone(found, "no example in the first comment")
                self.assertIn(found.group(2).count("\n"), LINES)
                last = path.read_text().count("\n", 0, found.end())
                self.assertLessEqual(last, FIRST_SCREEN, "the example ends below the first screen")

    def test_examples_run(self):
        for include in [INCLUDE, *KEPT]:
            with self.subTest(headers=include), tempfile.TemporaryDirectory() as made:
                examples = {name: found for name, found in examples_below(include).items() if found[1]}
                examples |= first_page(include)
                self.run_all(examples, include, pathlib.Path(made))

    def run_all(self, examples, include, folder):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("MDIST_")}
        environment["MDIST_DEVICES"] = "cpu*2"
        for name, (path, found) in examples.items():
            (folder / f"{name}.c").write_text(source_of(path, found))
        (folder / "main.c").write_text(main_of(examples))
        program = folder / "examples"
        subprocess.run([*(COMPILER or ["cc"]), *WARNINGS, "-I", include, *sorted(folder.glob("*.c")), LIBRARY,
                        "-Wl,-rpath," + str(LIBRARY.parent), "-o", program], check=True)
        for name in examples:
            with self.subTest(header=name):
                here = folder / name
                here.mkdir()
                for part in range(2):
                    (here / f"part-{part}.txt").write_text("one\ntwo\n")
                done = subprocess.run([program, name], cwd=here, env=environment, timeout=60, text=True,
                                      capture_output=True)
                self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
