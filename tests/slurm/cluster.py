# SPDX-License-Identifier: Apache-2.0
"""A real Slurm: slurmctld at the bridge of hosts.sh, and a slurmd on each host. All that they write is in a folder of
/run, which hosts.sh makes for this test alone, and they end with its process namespace, whatever happens."""
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from environment import environment  # noqa: E402
from time_limits import PATIENCE_S, await_that  # noqa: E402

HOSTS = int(os.environ.get("TEST_HOSTS", "0"))
FOLDER = pathlib.Path("/run/slurm")
BRIDGE = "10.78.0.254"
CPUS = 8  # of each host, whatever the machine has
ENDED = {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL"}
daemons = []  # all that were started
PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "sbatch", "scancel", "scontrol")

# A job that is requeued waits for cred_expire. The schedulers look at the queue every second.
CONFIGURATION = f"""\
ClusterName=test
SlurmctldHost={socket.gethostname()}({BRIDGE})
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={FOLDER}/munge/socket,cred_expire=5
MailProg=/bin/true
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
ReturnToService=2
StateSaveLocation={FOLDER}/state
SlurmdSpoolDir={FOLDER}/spool.%n
SlurmctldPidFile={FOLDER}/slurmctld.pid
SlurmdPidFile={FOLDER}/slurmd.%n.pid
SlurmctldLogFile={FOLDER}/slurmctld.log
SlurmdLogFile={FOLDER}/slurmd.%n.log
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
SchedulerParameters=bf_interval=1,sched_interval=1
JobAcctGatherType=jobacct_gather/none
NodeName=host[1-{HOSTS}] CPUs={CPUS}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=YES
"""


def skip(reason):
    print(f"skip - {reason}", flush=True)
    sys.exit(77)


def clean_environment(**own):
    """No job of ours takes anything from a job of Slurm in which the tests may run."""
    return {name: value for name, value in environment(SLURM_CONF=str(FOLDER / "slurm.conf"), **own).items()
            if name == "SLURM_CONF" or name in own or not name.startswith(("SLURM", "SRUN_", "SBATCH_"))}


def version():
    """(22, 5) of "slurm-wlm 22.05.8"."""
    said = subprocess.run(["slurmctld", "-V"], check=True, capture_output=True, text=True).stdout
    return tuple(int(part) for part in re.search(r" (\d+)\.(\d+)", said).groups()), said.strip()


def start_daemon(*words):
    # What libmunge and Slurm print beside their logs is kept, too.
    with (FOLDER / "daemons.log").open("a") as log:
        daemons.append(subprocess.Popen(words, env=clean_environment(), stdin=subprocess.DEVNULL, stdout=log, stderr=log))


def start_slurmd(host):
    """On the last host its own name means 127.0.1.1, as Debian's installer writes it."""
    names = pathlib.Path("/etc/hosts").read_text()
    own = FOLDER / f"hosts.{host}"
    own.write_text(names.replace(f"10.78.0.{host} ", "127.0.1.1 ") if host == HOSTS else names)
    start_daemon("on_host", str(host), "sh", "-c", f"mount --bind {own} /etc/hosts && exec slurmd -D -N host{host}")


def write_configuration():
    with open("/run/hosts/names", "a") as names:  # the /etc/hosts of hosts.sh
        names.write(f"{BRIDGE} {socket.gethostname()}\n")
    (FOLDER / "munge").mkdir(parents=True)
    (FOLDER / "munge").chmod(0o755)
    (FOLDER / "state").mkdir()
    key = FOLDER / "munge/key"
    key.touch(0o400)
    key.write_bytes(bytes(range(256)) * 4)  # nobody else can reach this Slurm
    (FOLDER / "slurm.conf").write_text(CONFIGURATION)
    # Hosts of hosts.sh have no cgroups. Older versions look for them unless they are told which they are.
    (FOLDER / "cgroup.conf").write_text("CgroupPlugin=disabled\n" if version()[0] >= (23, 11) else "CgroupPlugin=cgroup/v1\n")


def start_slurm():
    """Returns when all hosts wait for work. Ends the test as skipped where there can be no Slurm."""
    missing = [program for program in PROGRAMS if not shutil.which(program)]
    if missing:
        skip(f"{', '.join(missing)}: not installed (Debian: slurmctld, slurmd, slurm-client, munge)")
    if pathlib.Path("/proc/self/uid_map").read_text().split() != ["0", "0", "4294967295"]:
        skip("Slurm's daemons take root")
    write_configuration()
    print(f"# {version()[1]}", flush=True)
    munge = FOLDER / "munge"
    start_daemon("munged", "--foreground", f"--key-file={munge}/key", f"--socket={munge}/socket", f"--pid-file={munge}/pid",
                 f"--log-file={munge}/log", f"--seed-file={munge}/seed", f"--origin={BRIDGE}")
    await_that((munge / "socket").exists, "munged listens")
    start_daemon("slurmctld", "-D")
    for host in range(1, HOSTS + 1):
        start_slurmd(host)
    await_idle()


def await_idle():
    await_that(lambda: call("sinfo", "--noheader", "--format=%T %D", fails=True).strip() == f"idle {HOSTS}",
               "all hosts wait for work")


def call(*words, fails=False, **variables):
    """Runs a program at the bridge; returns what it prints."""
    done = subprocess.run(words, env=clean_environment(**variables), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=PATIENCE_S)
    assert fails or done.returncode == 0, f"{words}: {done.returncode}: {done.stdout}{done.stderr}"
    return done.stdout


def start(*words, **variables):
    """Starts a program at the bridge, such as srun. Its output is piped, with its errors in it."""
    return subprocess.Popen(words, env=clean_environment(**variables), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)


class Job:
    """What sbatch has begun: a script, with the options that its first lines name."""

    def __init__(self, name, script, **variables):
        self.output = FOLDER / f"{name}.out"
        file = FOLDER / f"{name}.sh"
        file.write_text(f"#!/bin/bash\n{script}")
        said = call("sbatch", "--parsable", f"--output={self.output}", "--open-mode=append", str(file), **variables)
        self.number = said.strip()

    def told(self, key):
        """The value of this key in `scontrol show job`."""
        return re.search(rf"\b{key}=(\S*)", call("scontrol", "show", "job", self.number)).group(1)

    def has_ended(self):
        """Tells whether it has ended, with all of its array."""
        self.ends = set(re.findall(r"\bJobState=(\S*)", call("scontrol", "show", "job", self.number)))
        return self.ends <= ENDED

    def said(self):
        return self.output.read_text() if self.output.exists() else ""

    def await_words(self, pattern):
        """Returns the match when the job has printed this."""
        def found():
            has_ended = self.has_ended()
            match = re.search(pattern, self.said())
            assert match or not has_ended, f"{self.ends}, without {pattern}: {self.said()}"
            return match
        return await_that(found, f"job {self.number} prints {pattern}")

    def await_end(self):
        """Returns how it ended, such as COMPLETED."""
        await_that(self.has_ended, f"job {self.number} ends")
        return " ".join(sorted(self.ends))


def names_on(host):
    """{process: its name} of all that runs on a host."""
    names = {}
    for number in call("ip", "netns", "pids", f"host{host}").split():
        try:
            names[int(number)] = pathlib.Path(f"/proc/{number}/comm").read_text().strip()
        except FileNotFoundError:
            pass
    return names


class SlurmTest(unittest.TestCase):
    """Prints the logs of Slurm if a test fails, and leaves no job to the next one."""

    crashed = None  # the host of which something was killed

    def run(self, result=None):
        before = len(result.failures) + len(result.errors)
        began = time.monotonic()
        super().run(result)
        print(f"# {self.id()}: {time.monotonic() - began:.1f} s", flush=True)
        if len(result.failures) + len(result.errors) > before:
            for log in (FOLDER / "slurmctld.log", FOLDER / "daemons.log"):
                last = log.read_text(errors="replace").splitlines()[-20:]
                print(f"# the last lines of {log.name}", *last, sep="\n", flush=True)

    def crash_host(self, host, *programs):
        """Kills all that runs on a host, as its end would; or only these programs."""
        self.crashed = host
        for number, name in names_on(host).items():
            if not programs or name in programs:
                try:
                    os.kill(number, signal.SIGKILL)
                except ProcessLookupError:
                    pass

    def find_out(self, host):
        """Tells the controller what it would find out by itself in SlurmdTimeout, and to use the host no more."""
        call("scontrol", "update", f"nodename=host{host}", "state=drain", "reason=crashed")
        call("scontrol", "update", f"nodename=host{host}", "state=down", "reason=crashed")

    def lose_host(self, host):
        self.crash_host(host)
        self.find_out(host)

    def bring_back(self, host):
        start_slurmd(host)
        # All of them, so that none waits for the end of a job of which it has not heard.
        call("scontrol", "update", "nodename=ALL", "state=down", "reason=test")
        call("scontrol", "update", "nodename=ALL", "state=resume")

    def tearDown(self):
        call("scancel", "--user=root", fails=True)
        if self.crashed:
            self.bring_back(self.crashed)
        await_idle()


def main():
    start_slurm()
    unittest.main(argv=sys.argv[:1], verbosity=1)
