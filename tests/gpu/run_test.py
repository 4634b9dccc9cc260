# SPDX-License-Identifier: Apache-2.0
"""tests/gpu/run, and report, on programs that do what programs do on a broken card, and on a driver that hangs. Whatever one of them
does, the others still run, and the end says what happened to each.

run_test.py
"""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from time_limits import LONG_ENOUGH_S, PATIENCE_S, Late, await_that, try_longer  # noqa: E402

RUN = pathlib.Path(__file__).with_name("run")
PROGRAMS = {
    "module_checks kernels": "echo 'ok first'; exec sleep 1000",
    "module_checks lifecycle": "trap '' TERM; echo 'ok second'; kill -SEGV $$",
    "module_checks bandwidth": "echo 'a word'; exit 1",
    "library_checks collectives": "echo 'skip gpu there is none'; exit 77",
    "library_checks step": "for i in 1 2 3 4 5 6; do echo \"ok $i\"; done",
    "library_checks replicas": "echo 'ended with errors'; echo 'not ok third a reason'; exit 1",
    "library_checks several": "echo 'skip several this machine has 1'; exit 78",
}
WANTED = [
    "ok first",
    "not ok tests/gpu/module_checks kernels was ended after 60 s; what it did next after the last line above hangs",
    "ok second",
    "not ok tests/gpu/module_checks lifecycle ended with status 139",
    "# a word",
    "not ok tests/gpu/module_checks bandwidth ended with status 1 and named no failed check (its words are above)",
    "skip gpu there is none",
    "ok 6",
    "not ok third a reason",
    "skip several this machine has 1",
    "skip tests/gpu/comm/gpu_several_workers it was not built: it needs the whole library",
]
REQUIRED = [
    "not ok tests/gpu/module_checks kernels made 1 checks of 104",
    "not ok tests/gpu/library_checks collectives made 0 checks of 16",
    "not ok tests/gpu/comm/gpu_several_workers made 0 checks of 4",
]

REPORTED = [
    "index, name",
    "    skipped: several this machine has 1",
    "  library_checks replicas: third a reason",
    "  module_checks lifecycle: tests/gpu/module_checks lifecycle ended with status 139",
]

# A driver that works, one in which a command hangs, and one in which nothing ends the command. There, the command that
# should end it waits for it.
SMI = "echo 'index, name'; exit 3"
SMI_HANGS = "trap '' TERM; exec sleep 1000"
ENDED = "# nvidia-smi did not end within 60 s, and was ended. "
NOT_ENDED = "# nvidia-smi did not end within {} s, and could not be ended. "
# In the place of `timeout -k 5 SECONDS COMMAND...`. What hangs is ended at once after its first line, as the time is no
# part of what this test claims; nothing else is. With TIMEOUT_HANGS, nothing ends the driver's command.
TIMEOUT = """
[[ $1 == -k && $2 == 5 && $3 -gt 0 ]] || exit 99
shift 3
case "$*" in
*"module_checks kernels"*) status=124 ;;
*nvidia-smi*) status=137 ;;
*) exec "$@" ;;
esac
grep -q 'sleep 1000' "$(command -v "$1")" || exec "$@"
if [[ $status == 137 && -n ${TIMEOUT_HANGS:-} ]]; then
    echo $$ >"$0.waits"
    exec sleep 1000
fi
exec {said}< <(exec "$@")
if [[ $status == 124 ]]; then
    read -r line <&$said
    echo "$line"
fi
kill -KILL $!
exit $status"""


def write(path, body):
    path.write_text(f"#!/bin/bash\n{body}\n")
    path.chmod(0o755)


def lines_of(folder, **environment):
    environment = {"MDIST_GPU_MOST": str(LONG_ENOUGH_S), "MDIST_REQUIRE_GPU": "0",
                   "PATH": f"{folder}:{os.environ['PATH']}", **environment}
    result = subprocess.run([folder / "tests/gpu/run", "--packed", folder], stdin=subprocess.DEVNULL, text=True,
                            capture_output=True, timeout=PATIENCE_S, env={**os.environ, **environment})
    return result.returncode, result.stdout.splitlines()


def problems(folder):
    write(folder / "nvidia-smi", SMI)
    status, lines = lines_of(folder)
    if status != 1:
        yield f"it ended with {status}"
    yield from (f"it did not print: {line}" for line in WANTED if line not in lines)
    yield from (f"it printed: {line}" for line in REQUIRED if line in lines)
    if not lines[-1].startswith("8 passed, 4 failed, "):
        yield f"its last line is: {lines[-1]}"
    if lines.count("# index, name") != 3 or any(line.startswith((ENDED, NOT_ENDED)) for line in lines):
        yield "it does not name the GPUs"
    write(folder / "nvidia-smi", SMI_HANGS)
    status, lines = lines_of(folder, MDIST_REQUIRE_GPU="1")
    yield from (f"it did not print: {line}" for line in REQUIRED if line not in lines)
    yield from (f"it printed: {line}" for line in lines if "library_checks step made" in line or "library_checks several made" in line)
    yield from problems_of_driver(lines, ENDED)
    yield from try_longer("a driver that cannot be ended", 1, lambda limit_s: list(problems_of_hang(folder, limit_s)))


def problems_of_hang(folder, limit_s):
    """Nothing ends the driver's command. So many seconds are left to everything else, too."""
    waits = folder / "timeout.waits"
    waits.unlink(missing_ok=True)
    lines = lines_of(folder, MDIST_GPU_MOST=str(limit_s), MDIST_GPU_PATIENCE="0", TIMEOUT_HANGS="1")[1]
    if any("did not end within" in line and "nvidia-smi" not in line for line in lines):
        raise Late("\n".join(lines))  # another command was late, so the driver's was not tried
    begun = waits.exists()
    await_that(lambda: waits.exists() and waits.read_text().endswith("\n"), "the command that hangs")
    os.kill(int(waits.read_text()), signal.SIGKILL)
    if not begun or any("hangs in the driver" in line for line in lines) or "ok 6" not in lines:
        raise Late("\n".join(lines))
    yield from problems_of_driver(lines, NOT_ENDED.format(limit_s))


def problems_of_report(folder):
    """A row for each group, with what it proves and why something was skipped, and then what failed."""
    write(folder / "nvidia-smi", SMI)
    write(folder / "tests/gpu/report", RUN.with_name("report").read_text())
    result = subprocess.run([folder / "tests/gpu/report"], stdin=subprocess.DEVNULL, text=True, capture_output=True,
                            timeout=PATIENCE_S, env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"})
    lines = result.stdout.splitlines()
    if result.returncode != 1 or result.stderr or len(lines) > 100:
        yield f"report ended with {result.returncode} and {len(lines)} lines: {result.stderr}"
    if lines[-1] != "8 passed, 4 failed, 3 skipped":
        yield f"its last line is: {lines[-1]}"
    groups = [line for line in lines if " passed " in line and " failed " in line]
    if len(groups) != 8 or any("   " not in line.split("skipped", 1)[1] for line in groups):
        yield f"it has these rows: {groups}"
    yield from (f"it did not print: {line}" for line in REPORTED if line not in lines)


def problems_of_driver(lines, said):
    if sum(line.startswith(said) for line in lines) != 1:
        yield f"it did not say once: {said}"
    if "ok 6" not in lines:
        yield "it did not go on"


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "tests/gpu").mkdir(parents=True)
        write(folder / "tests/gpu/run", RUN.read_text())
        for program in {name.split()[0] for name in PROGRAMS}:
            bodies = (f"if [[ $* == {name.split()[1]} ]]; then {body}; fi" for name, body in PROGRAMS.items()
                      if name.startswith(program))
            write(folder / "tests/gpu" / program, "\n".join(bodies))
        write(folder / "timeout", TIMEOUT)
        found = [*problems(folder), *problems_of_report(folder)]
    for problem in found:
        print(problem)
    print(len(WANTED) + len(REQUIRED) + len(REPORTED) + 8, "lines checked,", len(found), "wrong")
    return 1 if found else 0


sys.exit(main())
