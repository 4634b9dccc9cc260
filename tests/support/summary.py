# SPDX-License-Identifier: Apache-2.0
"""Sums up the results of runner.py, case by case. Prints what failed, what is flaky, a line for each suite, and at last
"N passed, N failed[, N skipped]". BUILD/meson-logs/summary.json says the same to programs.

Each case counts for a cmocka program that ran with CMOCKA_MESSAGE_OUTPUT=TAP, and for a script that prints "ok - what",
"not ok - what" and "skip - what". Any other program counts as one case. The exit status always counts, too: a program
that crashed, hung, leaked or raced has failed, whatever its cases say. So has one that should have run and did not.

A test that failed, and passed when it ran again alone, is flaky. Its cases count as passed, unless too many are flaky.
"""
import json
import pathlib
import re
import shutil

CASE = re.compile(r'^(not )?ok(?: \d+(?: - | )?| - )(.*)$', re.MULTILINE)
SKIP = re.compile(r'^skip - ', re.MULTILINE)
PLAN = re.compile(r'^1\.\.(\d+)$', re.MULTILINE)
# How a finding begins: of cmocka, Python's unittest, the sanitizers, a compiler, libc.
FINDING = re.compile(r'^not ok (?!\d+ # SKIP)|^Traceback |^(FAIL|ERROR): |^==+\d+==|Sanitizer: |runtime error: |error: |Assertion ')
FINDING_LINES = 12
LAST_LINES = 30
MOST_FLAKY = 2
NEVER_RAN = {'command': [], 'result': 'NEVER', 'returncode': None, 'stdout': '', 'stderr': '', 'duration': 0}


def count(result):
    """Returns (passed, skipped, [what failed]) of one program."""
    text = result['stdout']
    passed, skipped, failed = 0, len(SKIP.findall(text)), []
    for is_not, name in CASE.findall(text):
        if name.startswith('# SKIP'):
            skipped += 1
        elif is_not:
            failed.append(name)
        else:
            passed += 1
    planned = sum(int(cases) for cases in PLAN.findall(text))
    said = result['result']
    if said == 'OK':
        # The loop above misses a case whose line was joined with other output.
        passed += max(planned - passed - skipped - len(failed), 0 if planned or passed else 1)
    elif said == 'SKIP' and not failed:
        skipped = max(skipped, 1)
    elif said == 'NEVER':
        failed.append('never ran')
    elif said == 'ENDED':
        failed.append('was running when all had to end')
    elif not failed:
        failed.append('timed out' if said == 'TIMEOUT' else f'ended with status {result["returncode"]}')
    return passed, skipped, failed


def keep_log(folder, title, result):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / (re.sub(r'[^\w.-]+', '-', title) + '.txt')
    text = ' '.join(map(str, result['command'])) + '\n' + result['stdout'] + result['stderr']
    path.write_text(text)
    return path, text


def telling_lines(text):
    """The first finding, and the end."""
    lines = text.splitlines()
    end = max(len(lines) - LAST_LINES, 0)
    first = next((i for i, line in enumerate(lines) if FINDING.search(line)), end)
    found = lines[max(first - 1, 0):min(first + FINDING_LINES, end)]
    return found + (['...'] if found and end > first + FINDING_LINES else []) + lines[end:]


def sentence(passed, failed, skipped):
    return f'{passed} passed, {failed} failed' + (f', {skipped} skipped' if skipped else '')


def judge(titles, results, again, folder):
    """Returns ({suite: sums}, [failure], [flaky test]), and keeps the logs of both tries."""
    suites, failures, flaky = {}, [], []
    for title in titles:
        result = results.get(title, NEVER_RAN)
        passed, skipped, failed = count(result)
        if failed:
            logs = [keep_log(folder, title, result)]
            entry = {'test': title, 'cases': failed, 'logs': [str(logs[0][0])], 'lines': [telling_lines(logs[0][1])]}
            if title in again:
                logs.append(keep_log(folder, title + '.again', again[title]))
                entry['logs'].append(str(logs[1][0]))
                entry['lines'].append(telling_lines(logs[1][1]))
            passed_again, skipped_again, failed_again = count(again.get(title, result))
            if failed_again:
                failures.append(entry)
            else:
                flaky.append(entry)
                passed, skipped, failed = passed_again, skipped_again, []
        sums = suites.setdefault(title.partition(' / ')[0], {'passed': 0, 'failed': 0, 'skipped': 0, 'seconds': 0})
        for key, amount in ('passed', passed), ('failed', len(failed)), ('skipped', skipped), ('seconds', result['duration']):
            sums[key] += amount
    if len(flaky) > MOST_FLAKY:
        for entry in flaky:
            suites[entry['test'].partition(' / ')[0]]['failed'] += 1
    return suites, failures, flaky


def print_log(path, lines):
    print(f'  log: {path}')
    for line in lines:
        print(f'  | {line}')


def print_entry(word, entry):
    print(f'\n{word} {entry["test"]}')
    for case in entry['cases']:
        print(f'  {case}')
    print_log(entry['logs'][0], entry['lines'][0])
    if word == 'FLAKY':
        print('  It passed when it ran again, alone:')
        print_log(entry['logs'][1], entry['lines'][1][-5:])
    elif entry['logs'][1:]:
        print(f'  It failed again, alone: {entry["logs"][1]}')


def sum_up(build, titles, results, again):
    """Judges the tests of these titles; returns the exit status."""
    folder = pathlib.Path(build) / 'meson-logs'
    shutil.rmtree(folder / 'failed', ignore_errors=True)
    suites, failures, flaky = judge(titles, results, again, folder / 'failed')
    for entry in failures:
        print_entry('FAILED', entry)
    for entry in flaky:
        print_entry('FLAKY', entry)
    print()
    width = max(map(len, suites), default=0)
    for suite, sums in sorted(suites.items()):
        print(f'{suite:<{width}}  {sentence(sums["passed"], sums["failed"], sums["skipped"])}  ({sums["seconds"]:.0f} s)')
        sums['seconds'] = round(sums['seconds'], 1)
    total = [sum(sums[key] for sums in suites.values()) for key in ('passed', 'failed', 'skipped')]
    if len(flaky) > MOST_FLAKY:
        print(f'{len(flaky)} tests passed at their second try only: more than {MOST_FLAKY} count as failed')
    if not titles:
        print('no test was chosen')
        total[1] = 1
    (folder / 'summary.json').write_text(json.dumps({**dict(zip(('passed', 'failed', 'skipped'), total)), 'suites': suites,
                                                     'failures': failures, 'flaky': flaky}, indent=1) + '\n')
    print(sentence(*total))
    return 1 if total[1] else 0
