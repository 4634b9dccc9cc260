#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints what tests need to be built: targets of ninja, one per line.

needed.py BUILD [--suite NAME | --no-suite NAME]...
"""
import json
import os
import pathlib
import sys


def suites(test):
    return [suite.partition(':')[2] for suite in test['suite']]


def title(test):
    return f'{suites(test)[0]} / {test["name"]}'


def information(build, what):
    return json.loads((pathlib.Path(build) / f'meson-info/intro-{what}.json').read_text())


def chosen(build, with_these=(), without=()):
    """The tests of these suites (all, if none is named) but for those of the others, in Meson's form."""
    return [test for test in information(build, 'tests')
            if not set(suites(test)) & set(without) and (not with_these or set(suites(test)) & set(with_these))]


def needed(build, tests):
    """{title of a test: the files that it needs}, relative to the build folder."""
    folder = pathlib.Path(build).resolve()
    files = {target['id']: [os.path.relpath(path, folder) for path in target['filename']] for target in information(build, 'targets')}
    return {title(test): [path for target in test['depends'] for path in files[target]] for test in tests}


def split_options(arguments):
    """['--suite', 'a', '--no-suite', 'b'] -> (['a'], ['b'])"""
    pairs = list(zip(arguments[::2], arguments[1::2]))
    return [name for option, name in pairs if option == '--suite'], [name for option, name in pairs if option == '--no-suite']


def main(build, *options):
    tests = chosen(build, *split_options(options))
    if not tests:
        sys.exit(f'error: {build} has no test of these suites: {" ".join(options)}')
    print(*sorted({'build.ninja'}.union(*needed(build, tests).values())), sep='\n')  # no target would mean all


if __name__ == '__main__':
    main(*sys.argv[1:])
