#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds and runs the tests that tell most about what was changed since a revision, as many as fit into a minute.

near.py BUILD REVISION [--patience FACTOR]

First come tests that were changed, then those that include the header of a changed file, then what the table in
tests/README.md names for its folder, for the folders above, and, after a header, for the folders that include it. How long
compiling and running take is what they took before; what does not fit is listed at the end. After a failure no test begins.
"""
import fnmatch
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True

import needed  # noqa: E402
import runner  # noqa: E402
import summary  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
SECONDS = 60
LEAST = 15  # so long tests run, even if compiling took all of the time
UNKNOWN = 1  # seconds of a test that has not run yet
ENOUGH = 3  # seconds for a further look at what is built


def output(*command, **more):
    return subprocess.run(command, cwd=ROOT, text=True, check=True, stdout=subprocess.PIPE, **more).stdout


def changed_files(revision):
    names = output('git', 'diff', '--name-only', '--no-renames', '-z', revision, '--')
    return sorted(filter(None, (names + output('git', 'ls-files', '--others', '--exclude-standard', '-z')).split('\0')))


class Table:
    """{folder: [(suite, patterns)]}, in the order of the table."""

    def __init__(self, page):
        rows = re.search(r'^\| folder \|.*\n\|[-|]*\n((?:\|.*\n)*)', page, re.MULTILINE).group(1)
        self.rows = {}
        for line in rows.splitlines():
            folder, entries = (cell.strip() for cell in line.split('|')[1:3])
            self.rows[folder.strip('`')] = [(entry.split()[0], entry.split()[1:]) for entry in entries.split(';')]

    def folders(self, path):
        """The rows for this file: its folder's, then those above. The project's own is for what lies right there."""
        folders = [str(folder) for folder in pathlib.PurePosixPath(path).parents]
        return [folder for folder in folders if folder in self.rows and (folder != '.' or len(folders) == 1)]


def short_names(test):
    return {test['name'], *(test['name'].removeprefix(suite + '_') for suite in needed.suites(test))}


def matches(entry, test):
    suite, patterns = entry
    return suite in needed.suites(test) and (
        not patterns or any(fnmatch.fnmatchcase(name, pattern) for name in short_names(test) for pattern in patterns))


class Graph:
    """What the build makes from what: {output: inputs}, {object: the files that were read for it}, and how long each took."""

    def __init__(self, makes, reads, seconds):
        self.makes, self.reads, self.seconds = makes, reads, seconds
        self.takes = {}
        for made, inputs in makes.items():
            for one in inputs:
                self.takes.setdefault(one, set()).add(made)

    @classmethod
    def of(cls, build):
        makes, reads = {}, {}
        for line in (build / 'build.ninja').read_text().replace('$\n', '').splitlines():
            if line.startswith('build ') and ': phony' not in line:
                made, _, inputs = line[6:].partition(': ')
                for one in made.replace('|', ' ').split():
                    makes[one] = set(inputs.split('||')[0].replace('|', ' ').split()[1:])
        current = None
        for line in output('ninja', '-C', build, '-t', 'deps').splitlines():
            if line.startswith('    '):
                path = os.path.normpath(build / line.strip())
                if path.startswith(f'{ROOT}/'):
                    current.add(os.path.relpath(path, ROOT))
            elif ': #deps' in line:
                current = reads.setdefault(line.partition(':')[0], set())
        for command in json.loads((build / 'compile_commands.json').read_text()):  # for what was not compiled yet
            source = os.path.relpath(os.path.normpath(build / command['file']), ROOT)
            reads.setdefault(command['output'], set()).add(source)
        return cls(makes, reads, log_of(build))

    def reading(self, path):
        return {made for made, read in self.reads.items() if path in read}

    def above(self, outputs):
        """These, and what is made again after them: a program is not, if only a shared library behind its list of symbols is."""
        found, new = set(), set(outputs)
        while new:
            found |= new
            new = {taker for one in new if not one.endswith('.symbols') for taker in self.takes.get(one, ())} - found
        return found

    def below(self, outputs, within=lambda output: True):
        """These, and all that they are made from."""
        found, new = set(), set(outputs)
        while new:
            found |= new
            new = {one for made in new if within(made) for one in self.makes.get(made, ())} - found
        return found


def log_of(build):
    seconds = {}
    try:
        for line in (build / '.ninja_log').read_text().splitlines()[1:]:
            start, end, _, made, _ = line.split('\t')
            seconds[made] = (int(end) - int(start)) / 1000
    except (OSError, ValueError):
        pass
    return seconds


def is_test_file(output):
    return not output.startswith(('lib/', 'src/'))


def stem(path):
    return pathlib.PurePosixPath(path).stem.removesuffix('_test')


class Project:
    """The tests of a build folder, and what leads from files to them."""

    def __init__(self, build, tests, programs, graph, includes):
        self.tests, self.programs, self.graph, self.includes = tests, programs, graph, includes
        self.own = {needed.title(test): graph.below(set(programs[needed.title(test)]) & words(test, build), is_test_file)
                    for test in tests}

    def made_from(self, path):
        """The tests whose own sources are or include this file, or whose script is or imports it."""
        objects = self.graph.reading(path)
        found = [test for test in self.tests if objects & self.own[needed.title(test)] or path in words(test, ROOT) or
                 path.endswith('.py') and any(imports(word, path) for word in words(test, ROOT))]
        if path.endswith(('.c', '.cpp')):  # one program may hold many tests
            found = [test for test in found if stem(path) in short_names(test)] or found
        return found

    def including(self, header):
        """The files of tests and lib that name this header in an #include."""
        return [path for path, names in self.includes.items() if re.sub('^(lib|include)/', '', header) in names]


def words(test, folder):
    """What its command names, seen from this folder."""
    return {os.path.relpath(os.path.normpath(word), folder) if word.startswith('/') else word for word in test['cmd']}


def imports(script, path):
    return (script.endswith('.py') and (ROOT / script).is_file() and
            re.search(rf'^(import|from) {stem(path)}\b', (ROOT / script).read_text(), re.MULTILINE) is not None)


def includes_of_project():
    found = {}
    for line in output('git', 'grep', '--untracked', '-E', '^ *# *include +["<]', '--', 'lib', 'tests', 'src').splitlines():
        path, _, text = line.partition(':')
        found.setdefault(path, set()).add(re.split('["<>]', text)[1])
    return found


def ranks(path, project, table):
    """[(rank, test)] for a changed file. A lower rank tells more."""
    found = [((0,), test) for test in project.made_from(path) if not path.startswith(('lib/', 'src/', 'include/'))]
    header = str(pathlib.PurePosixPath(path).with_suffix('.h'))
    users = project.including(header)
    for user in users:
        if user.startswith('tests/') and user.endswith(('.c', '.cpp')):
            own = project.made_from(user)
            found += [((1, len(own)), test) for test in own]  # what few tests share tells more
    rows = table.folders(path)
    if path.endswith('.h'):
        for user in users:
            rows += [row for row in table.folders(user)[:1] if user.startswith(('lib/', 'src/')) and row not in rows]
    for i, row in enumerate(rows):
        for j, entry in enumerate(table.rows[row]):
            found += [((2 + i, j), test) for test in project.tests if matches(entry, test)]
    if path.endswith('.h'):
        found += [((1000,), test) for test in project.made_from(path)]
    return found


def in_order(paths, project, table, durations):
    """The tests for all of these files, most telling first; among equals the quick ones first."""
    best = {}
    for path in paths:
        for rank, test in ranks(path, project, table):
            title = needed.title(test)
            best[title] = min(best.get(title, (rank, test)), (rank, test), key=lambda pair: pair[0])
    return [test for rank, test in sorted(best.values(), key=lambda pair: (pair[0], durations.of(pair[1], UNKNOWN)))]


class Chooser:
    """Chooses what fits into a time, with all that must be made for it."""

    def __init__(self, project, paths, durations, cores, missing=()):
        self.project, self.durations, self.cores = project, durations, cores
        changed = {made for path in paths for made in project.graph.reading(path)}
        self.dirty = project.graph.above(changed) | set(missing)
        self.made = set()

    def building(self, outputs):
        """Seconds for making these again."""
        each = [self.project.graph.seconds.get(made, 1) for made in outputs]
        return max(sum(each) / self.cores, max(each, default=0))

    def to_make(self, test):
        return self.project.graph.below(self.project.programs[needed.title(test)]) & self.dirty

    def for_all(self, tests):
        """Seconds for the library, which all need."""
        return self.building({made for test in tests for made in self.to_make(test) if made.startswith('lib/')} - self.made)

    def choose(self, tests, seconds):
        chosen, outputs, running = [], set(), 0.0
        for test in tests:
            more = outputs | self.to_make(test)
            long = self.durations.of(test, UNKNOWN)
            cost = long * runner.weight(test) / (2 * self.cores)
            build = self.building(more - self.made)
            if build + max(running + cost, long) <= seconds:
                chosen.append(test)
                outputs, running = more, running + cost
        self.made |= outputs
        return chosen


def list_left(tests, durations, failed):
    if failed and tests:
        print(f'\nAfter a failure no test begins: {len(tests)} that the change may concern did not run.')
    if failed or not tests:
        return
    suites = {}
    for test in tests:
        suites.setdefault(needed.suites(test)[0], []).append(test['name'])
    print(f'\n{len(tests)} tests that the change may concern did not run, as they take about '
          f'{sum(durations.of(test, UNKNOWN) for test in tests) / 2:.0f} s more:')
    for suite, names in suites.items():
        print(f'  {suite}: {" ".join(names)}')


def main(build, revision, patience=1.0):
    start = time.monotonic()
    build = (ROOT / build).resolve()
    paths = changed_files(revision)
    if not paths:
        print(f'nothing has changed since {revision}\n{summary.sentence(0, 0, 0)}')
        return 0
    tests = needed.chosen(build)
    programs = needed.needed(build, tests)
    project = Project(build, tests, programs, Graph.of(build), includes_of_project())
    durations, cores = runner.Durations(build), len(os.sched_getaffinity(0))
    table = Table((ROOT / 'tests/README.md').read_text())
    left = in_order(paths, project, table, durations)
    print(f'== changed since {revision}: {" ".join(paths[:20])}{" ..." if len(paths) > 20 else ""}', flush=True)
    unnamed = [path for path in paths if not ranks(path, project, table)]
    if unnamed:
        print(f'== no test is known for {" ".join(unnamed)} (tests/README.md names folders)')
    if not left:
        print(summary.sentence(0, 0, 0))
        return 0
    missing = [made for made in project.graph.makes if not (build / made).exists()]
    chooser = Chooser(project, paths, durations, cores, missing)
    batch = chooser.choose(left, max(SECONDS, chooser.for_all(left) + LEAST)) or left[:1]

    run = runner.Runner(build, runner.SLOTS * cores, patience)
    run.end_at(signal.SIGTERM, signal.SIGINT)
    results, again, done = {}, {}, []

    def failed():
        return [title for title, result in results.items() if summary.count(again.get(title, result))[2]]

    while batch and not failed() and not run.asked_to_end:
        targets = sorted({'build.ninja'}.union(*(programs[needed.title(test)] for test in batch)))  # none would mean all
        if subprocess.run(['ninja', '-C', build, '--quiet', *targets], stdin=subprocess.DEVNULL).returncode:
            print(f'error: {build} does not build (the compiler\'s messages are above)', file=sys.stderr)
            return 1
        until = max(start + SECONDS, time.monotonic() + LEAST)
        run.failed = False
        results.update(run.run(
            batch, may_begin=lambda test: not run.failed and time.monotonic() + durations.of(test, UNKNOWN) <= until))
        begun = [test for test in batch if needed.title(test) in results]
        done += begun
        left = [test for test in left if test not in begun]
        again.update(runner.run_again(run, begun, results))
        batch = chooser.choose(left, start + SECONDS - ENOUGH - time.monotonic())
    durations.keep(results)
    list_left(left, durations, failed())
    return summary.sum_up(build, [needed.title(test) for test in done], results, again)


if __name__ == '__main__':
    sys.exit(main(sys.argv[1], sys.argv[2], float(sys.argv[4]) if sys.argv[3:4] == ['--patience'] else 1.0))
