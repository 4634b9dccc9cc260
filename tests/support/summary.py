#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sums up what `meson test` left in BUILD/meson-logs/testlog.json, case by case.

Each case counts for a cmocka program that ran with CMOCKA_MESSAGE_OUTPUT=TAP, and for a script that prints "ok - what",
"not ok - what" and "skip - what". Any other program counts as one case. The exit status always counts, too: a program
that crashed, hung, leaked or raced has failed, whatever its cases say.

This does not use Meson's own reading of TAP. cmocka writes a skipped case as "not ok N # SKIP", which Meson takes for a
failure. Other lines of output make Meson refuse the rest.
"""
import json
import pathlib
import re
import sys

CASE = re.compile(r'^(not )?ok(?: \d+(?: - | )?| - )(.*)$', re.MULTILINE)
SKIP = re.compile(r'^skip - ', re.MULTILINE)
PLAN = re.compile(r'^1\.\.(\d+)$', re.MULTILINE)
GOOD = ('OK', 'EXPECTEDFAIL')
LAST_LINES = 30


def count(test):
    """Returns (passed, skipped, [what failed]) of one program."""
    text = test.get('stdout', '')
    passed, skipped, failed = 0, len(SKIP.findall(text)), []
    for is_not, name in CASE.findall(text):
        if name.startswith('# SKIP'):
            skipped += 1
        elif is_not:
            failed.append(name)
        else:
            passed += 1
    planned = sum(int(cases) for cases in PLAN.findall(text))
    if test['result'] in GOOD:
        # The loop above misses a case whose line was joined with other output.
        passed += max(planned - passed - skipped - len(failed), 0 if planned or passed else 1)
    elif test['result'] == 'SKIP' and not failed:
        skipped = max(skipped, 1)
    elif not failed:
        failed.append('timed out' if test['result'] == 'TIMEOUT' else f'ended with status {test["returncode"]}')
    return passed, skipped, failed


def split_name(test):
    """'mdist:unit / shape_test' -> ('unit', 'shape_test')"""
    suite, _, name = test['name'].rpartition(' / ')
    return suite.partition(':')[2] or suite or 'other', name


def keep_log(folder, name, test):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / (re.sub(r'[^\w.-]', '_', name) + '.txt')
    text = ' '.join(test['command']) + '\n' + test.get('stdout', '') + test.get('stderr', '')
    path.write_text(text)
    return path, text


def sentence(passed, failed, skipped):
    return f'{passed} passed, {failed} failed' + (f', {skipped} skipped' if skipped else '')


def main(build):
    logs = pathlib.Path(build) / 'meson-logs'
    try:
        tests = [json.loads(line) for line in (logs / 'testlog.json').read_text().splitlines()]
    except FileNotFoundError:
        tests = []
    if not tests:
        print(f'no test ran: does the suite exist? (meson test -C {build} --list)\n{sentence(0, 1, 0)}')
        return 1

    suites, failures = {}, []
    for test in tests:
        suite, name = split_name(test)
        passed, skipped, failed = count(test)
        sums = suites.setdefault(suite, [0, 0, 0])
        for i, amount in enumerate((passed, len(failed), skipped)):
            sums[i] += amount
        if failed:
            failures.append((suite, name, failed, *keep_log(logs / 'failed', f'{suite}-{name}', test)))

    for suite, name, failed, path, text in failures:
        print(f'\nFAILED {suite} / {name}')
        for case in failed:
            print(f'  {case}')
        print(f'  log: {path}, which ends')
        for line in text.splitlines()[-LAST_LINES:]:
            print(f'  | {line}')
    print()
    width = max(len(suite) for suite in suites)
    for suite, sums in sorted(suites.items()):
        print(f'{suite:<{width}}  {sentence(*sums)}')
    total = [sum(column) for column in zip(*suites.values())]
    print(sentence(*total))
    return 1 if total[1] else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1]))
