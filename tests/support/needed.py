#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints what tests need to be built: targets of ninja, one per line.

needed.py BUILD [--suite NAME | --no-suite NAME]...
"""
import json
import os
import pathlib
import sys


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    chosen = [set(), set()]
    for option, name in zip(sys.argv[2::2], sys.argv[3::2]):
        chosen[option == '--no-suite'].add(name)
    with_these, without = chosen
    ids = set()
    for test in json.loads((build / 'meson-info/intro-tests.json').read_text()):
        suites = {suite.partition(':')[2] for suite in test['suite']}
        if not suites & without and (not with_these or suites & with_these):
            ids.update(test['depends'])
    for target in json.loads((build / 'meson-info/intro-targets.json').read_text()):
        if target['id'] in ids:
            print(*(os.path.relpath(path, build) for path in target['filename']), sep='\n')


main()
