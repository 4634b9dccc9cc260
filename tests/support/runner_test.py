# SPDX-License-Identifier: Apache-2.0
"""tests/run runs what was chosen, runs again what failed, and counts what never ran as failed. --near chooses what a change
needs. With the build folder as an argument: what the table in tests/README.md names exists."""
import contextlib
import io
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import unittest

sys.dont_write_bytecode = True

import near  # noqa: E402
import needed  # noqa: E402
import runner  # noqa: E402
import summary  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SECOND_TIME = 'echo ran >> {file}; test $(wc -l < {file}) -ge 2'  # fails when it runs first


def made_up(name, script='true', suite='unit', **more):
    return {'name': name, 'cmd': ['sh', '-c', script], 'env': {}, 'workdir': None, 'timeout': 600, 'suite': [f'mdist:{suite}'],
            'is_parallel': True, 'priority': 0, 'depends': [], **more}


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = pathlib.Path(folder.name)
        (self.build / 'meson-info').mkdir()

    def run_tests(self, *tests, options=()):
        """Runs runner.py over these; returns (status, lines, summary.json)."""
        (self.build / 'meson-info/intro-tests.json').write_text(json.dumps(tests))
        done = subprocess.run([sys.executable, HERE / 'runner.py', self.build, *options], text=True, stdout=subprocess.PIPE)
        return done.returncode, done.stdout.splitlines(), json.loads((self.build / 'meson-logs/summary.json').read_text())

    def second_time(self, name, **more):
        return made_up(name, SECOND_TIME.format(file=self.build / name), **more)

    def times_run(self, name):
        return len((self.build / name).read_text().splitlines())


class Runs(Folder):
    def test_the_last_line_counts_cases(self):
        cases = r'printf "1..3\nok 1 - a\nnot ok 2 # SKIP b\nok 3 - c\n"'
        status, lines, said = self.run_tests(made_up('cases', cases), made_up('plain'), made_up('skipped', 'exit 77'))
        self.assertEqual((status, lines[-1]), (0, '3 passed, 0 failed, 2 skipped'))
        self.assertEqual((said['passed'], said['failed'], said['skipped'], said['flaky']), (3, 0, 2, []))

    def test_a_failure_is_named_with_its_first_finding_its_end_and_its_log(self):
        script = r'echo "not ok 1 - it sums"; echo "# 1 != 2"; for i in $(seq 100); do echo line $i; done; exit 3'
        status, lines, said = self.run_tests(made_up('bad', script), made_up('good'))
        self.assertEqual((status, lines[-1]), (1, '1 passed, 1 failed'))
        for line in 'FAILED unit / bad', '  it sums', '  | # 1 != 2', '  | line 100':
            self.assertIn(line, lines)
        self.assertNotIn('  | line 50', lines)
        log = pathlib.Path(said['failures'][0]['logs'][0]).read_text()
        self.assertIn('line 50\n', log)

    def test_what_passes_at_the_second_try_is_flaky_and_has_passed(self):
        status, lines, said = self.run_tests(self.second_time('first'), made_up('good'))
        self.assertEqual((status, lines[-1]), (0, '2 passed, 0 failed'))
        self.assertIn('FLAKY unit / first', lines)
        self.assertEqual([pathlib.Path(log).is_file() for log in said['flaky'][0]['logs']], [True, True])

    def test_more_than_two_flaky_tests_fail_the_run(self):
        for many, expected in (2, (0, '2 passed, 0 failed')), (3, (1, '3 passed, 3 failed')):
            status, lines, said = self.run_tests(*(self.second_time(f'{many}-{i}') for i in range(many)))
            self.assertEqual((status, lines[-1]), expected)
            self.assertEqual(len(said['flaky']), many)

    def test_what_fails_twice_has_failed_and_runs_alone_after_the_others(self):
        script = f'echo bad >> {self.build}/order; false'
        status, lines, _ = self.run_tests(made_up('bad', script, priority=5), made_up('good', f'echo good >> {self.build}/order'))
        self.assertEqual((status, lines[-1]), (1, '1 passed, 1 failed'))
        order = (self.build / 'order').read_text().split()
        self.assertEqual((len(order), order[-1]), (3, 'bad'))

    def test_many_failures_are_not_run_again(self):
        names = [f'bad{i}' for i in range(runner.MOST_AGAIN + 1)]
        status, lines, _ = self.run_tests(*map(self.second_time, names))
        self.assertEqual((status, lines[-1]), (1, f'0 passed, {len(names)} failed'))
        self.assertEqual({self.times_run(name) for name in names}, {1})

    def test_what_never_ran_has_failed(self):
        # The first test asks the runner to end; the second would run alone after it.
        status, lines, said = self.run_tests(made_up('ender', 'kill -TERM $PPID; sleep 1000'), made_up('late', is_parallel=False))
        self.assertEqual((status, lines[-1]), (1, '0 passed, 2 failed'))
        self.assertEqual({entry['test']: entry['cases'] for entry in said['failures']},
                         {'unit / ender': ['was running when all had to end'], 'unit / late': ['never ran']})

    def test_a_program_that_cannot_be_started_has_failed(self):
        status, lines, _ = self.run_tests(made_up('missing', cmd=['/no/such/program']))
        self.assertEqual((status, lines[-1]), (1, '0 passed, 1 failed'))

    def test_a_test_that_hangs_is_ended_with_what_it_started(self):
        status, lines, said = self.run_tests(made_up('hangs', 'sleep 1000 & sleep 1000'),
                                             options=['--patience', '0.001'])
        self.assertEqual((status, lines[-1]), (1, '0 passed, 1 failed'))
        self.assertEqual(said['failures'][0]['cases'], ['timed out'])

    def test_suites_are_chosen(self):
        tests = made_up('a'), made_up('b', suite='api'), made_up('c', suite='gpu')
        for options, expected in ((), 3), (['--suite', 'api'], 1), (['--no-suite', 'gpu'], 2), (['--suite', 'x'], 0):
            _, _, said = self.run_tests(*tests, options=options)
            self.assertEqual((said['passed'], said['failed']), (expected, 0 if expected else 1))


class Scheduler(Folder):
    def test_at_most_half_as_many_crowded_tests_run_at_once(self):
        running, most, lock, full = 0, 0, threading.Lock(), threading.Semaphore(0)

        class Counting(runner.Runner):
            def perform(self, test):
                nonlocal running, most
                with lock:
                    running += 1
                    most = max(most, running)
                    if running == self.expected:
                        for _ in range(100):
                            full.release()
                full.acquire()  # so many must run at once, or this waits for ever
                with lock:
                    running -= 1
                return runner.result_of(test, 'OK', 0, '', '', 0)

        for suite, expected in ('unit', 4), ('multi', 2):
            most, full = 0, threading.Semaphore(0)
            counting = Counting(self.build, 4)
            counting.expected = expected
            with contextlib.redirect_stdout(io.StringIO()):
                self.assertEqual(len(counting.run([made_up(str(i), suite=suite) for i in range(8)])), 8)
            self.assertEqual(most, expected)

    def test_what_may_not_begin_is_left_out(self):
        one = runner.Runner(self.build, 1)
        with contextlib.redirect_stdout(io.StringIO()):
            results = one.run([made_up('good'), made_up('bad', 'false'), made_up('late')], may_begin=lambda test: not one.failed)
        self.assertEqual(set(results), {'unit / good', 'unit / bad'})

    def test_first_comes_what_has_priority_then_what_took_longest(self):
        durations = runner.Durations(self.build)
        durations.known = {'unit / quick': 1, 'unit / slow': 9}
        tests = [made_up('quick'), made_up('new'), made_up('slow'), made_up('urgent', priority=1)]
        self.assertEqual([test['name'] for test in runner.in_order(tests, durations)], ['urgent', 'new', 'slow', 'quick'])


class Needed(Folder):
    def test_only_what_the_tests_of_a_suite_depend_on_is_needed(self):
        tests = [made_up('a', depends=['1']), made_up('b', suite='api', depends=['2', '3'])]
        (self.build / 'meson-info/intro-tests.json').write_text(json.dumps(tests))
        (self.build / 'meson-info/intro-targets.json').write_text(json.dumps(
            [{'id': name, 'filename': [str(self.build.resolve() / 'tests' / name)]} for name in '1234']))
        self.assertEqual(needed.needed(self.build, needed.chosen(self.build, ['api'])), {'api / b': ['tests/2', 'tests/3']})


class Suites(unittest.TestCase):
    def test_the_table_lists_those_that_there_are(self):
        used = set()
        for path in [*(ROOT / 'tests').rglob('meson.build'), *(ROOT / 'examples').rglob('meson.build')]:
            for names in re.findall(r"suite: (\[[^]]*\]|'\w+')", path.read_text()):
                used.update(re.findall(r"'(\w+)'", names))
        told = subprocess.run([ROOT / 'tests/run', '--help'], text=True, stdout=subprocess.PIPE, check=True).stdout
        self.assertEqual(set(told.splitlines()[-1].removeprefix('The suites: ').split()), used)

    def test_an_unknown_one_is_refused_at_once(self):
        for option in '--suite', '--no-suite':
            refused = subprocess.run([ROOT / 'tests/run', '--build', '/dev/null/none', option, 'untis'], text=True, capture_output=True)
            self.assertEqual((refused.returncode, refused.stdout), (1, ''))
            self.assertRegex(refused.stderr, r'^error: .*untis: there is no such suite. There are: .*\bunit\b')


class Findings(unittest.TestCase):
    def test_a_skipped_case_is_none(self):
        lines = ['not ok 2 # SKIP b', *map(str, range(50)), 'x.c:8: error: Failure!', *map(str, range(50))]
        self.assertEqual(summary.telling_lines('\n'.join(lines))[:2], ['49', 'x.c:8: error: Failure!'])


TABLE = """
| folder | tests | because |
|---|---|---|
| `lib` | api | all |
| `lib/comm` | unit comm_* plan; multi ways | |
| `lib/util` | unit log | |

| other | table |
|---|---|
"""


class Near(Folder):
    def setUp(self):
        super().setUp()
        names = 'unit comm_group', 'unit comm_log', 'unit plan', 'unit log', 'multi multi_ways', 'api value', 'api step'
        self.tests = []
        for suite, name in (name.split() for name in names):
            program = 'tests/unit' if suite == 'unit' else f'tests/{name}'  # all unit tests are one program
            self.tests.append(made_up(name, suite=suite, cmd=[str(self.build / program), name]))
        makes = {'tests/unit': {'plan.o', 'log.o', 'comm.o', 'lib/a'}, 'lib/a': {'lib/comm.o', 'lib/log.o'},
                 'lib/so': {'lib/a'}, 'lib/so.symbols': {'lib/so'}, 'tests/multi_ways': {'ways.o', 'lib/so.symbols'},
                 'tests/value': {'value.o', 'lib/so.symbols'}, 'tests/step': {'step.o', 'lib/so.symbols'}}
        reads = {'plan.o': {'tests/unit/plan_test.cpp', 'lib/comm/plan.h', 'lib/util/text.h'}, 'log.o': {'tests/unit/log_test.cpp'},
                 'comm.o': {'tests/unit/comm_group_test.cpp'}, 'ways.o': {'tests/multi/ways_test.c', 'tests/multi/multi.h'},
                 'value.o': {'tests/api/value_test.c'}, 'step.o': {'tests/api/step_test.c'},
                 'lib/comm.o': {'lib/comm/plan.cpp', 'lib/comm/plan.h', 'lib/util/text.h'}, 'lib/log.o': {'lib/util/log.cpp'}}
        self.graph = near.Graph(makes, reads, {'lib/comm.o': 20, 'lib/log.o': 2, 'plan.o': 90})
        includes = {'tests/unit/plan_test.cpp': {'comm/plan.h'}, 'lib/comm/plan.h': {'util/text.h'}, 'lib/comm/plan.cpp': {'comm/plan.h'}}
        programs = {needed.title(test): [str(pathlib.Path(test['cmd'][0]).relative_to(self.build))] for test in self.tests}
        self.project = near.Project(self.build, self.tests, programs, self.graph, includes)
        self.durations = runner.Durations(self.build)
        self.durations.known = {needed.title(test): 1 for test in self.tests}

    def order(self, *paths):
        return [test['name'] for test in near.in_order(paths, self.project, near.Table(TABLE), self.durations)]

    def chosen(self, path, seconds):
        chooser = near.Chooser(self.project, [path], self.durations, cores=2)
        return [test['name'] for test in chooser.choose(near.in_order([path], self.project, near.Table(TABLE), self.durations), seconds)]

    def test_a_source_of_lib_takes_its_headers_users_then_its_folder_then_those_above(self):
        self.assertEqual(self.order('lib/comm/plan.cpp'), ['plan', 'comm_group', 'comm_log', 'multi_ways', 'value', 'step'])

    def test_a_header_takes_the_folders_that_include_it_too(self):
        self.assertEqual(self.order('lib/util/text.h'), ['log', 'value', 'step', 'comm_group', 'comm_log', 'plan', 'multi_ways'])

    def test_a_changed_test_comes_first(self):
        self.assertEqual(self.order('tests/unit/log_test.cpp'), ['log'])
        self.assertEqual(self.order('tests/multi/multi.h'), ['multi_ways'])
        self.assertEqual(self.order('lib/comm/plan.cpp', 'tests/api/step_test.c')[:2], ['step', 'plan'])

    def test_an_unknown_folder_takes_nothing(self):
        self.assertEqual(self.order('elsewhere/x.c'), [])

    def test_quick_ones_come_first_among_equals(self):
        self.durations.known['api / step'] = 0.5
        self.assertEqual(self.order('lib/other.cpp'), ['step', 'value'])

    def test_only_what_fits_is_chosen(self):
        self.assertEqual(self.chosen('lib/comm/plan.cpp', 25), ['plan', 'comm_group', 'comm_log', 'multi_ways', 'value', 'step'])
        self.durations.known['multi / multi_ways'] = 6
        self.assertEqual(self.chosen('lib/comm/plan.cpp', 25), ['plan', 'comm_group', 'comm_log', 'value', 'step'])
        self.assertEqual(self.chosen('lib/comm/plan.cpp', 10), [])  # compiling takes 20 s

    def test_what_takes_long_to_compile_is_left_to_the_end(self):
        self.assertEqual(self.chosen('lib/comm/plan.h', 40), ['multi_ways', 'value', 'step'])

    def test_programs_are_not_linked_again_behind_a_list_of_symbols(self):
        self.assertEqual(self.graph.above(self.graph.reading('lib/util/log.cpp')),
                         {'lib/log.o', 'lib/a', 'lib/so', 'lib/so.symbols', 'tests/unit'})


class NearTable(unittest.TestCase):
    rows = near.Table((ROOT / 'tests/README.md').read_text()).rows

    def test_it_names_every_folder_of_lib(self):
        sources = [path for path in (ROOT / 'lib').rglob('*') if path.suffix in ('.h', '.cpp', '.cu')]
        folders = {'/'.join(path.relative_to(ROOT).parts[:-1][:3]) for path in sources}
        self.assertEqual(folders - set(self.rows), set())

    def test_what_it_names_exists(self):
        for folder in self.rows:
            self.assertTrue((ROOT / folder).is_dir(), folder)
        if len(BUILD) == 0:
            self.skipTest('this build leaves tests out')
        tests = needed.chosen(BUILD[0])
        for folder, entries in self.rows.items():
            for suite, patterns in entries:
                for pattern in patterns or ['*']:
                    self.assertTrue(any(near.matches((suite, [pattern]), test) for test in tests), f'{folder}: {suite} {pattern}')


BUILD = sys.argv[1:]
if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
