#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Elastic jobs under a real Slurm, with a store in the batch script. Usage: elastic_test.py MDIST 13_ELASTIC [FASHION_MNIST],
in hosts.sh"""
import os
import re
import sys
import unittest

from cluster import FOLDER, Job, SlurmTest, main
from time_limits import Late, in_time

MDIST, ELASTIC, *TRAINING = (os.path.abspath(path) for path in sys.argv[1:])

# As docs/how-to/elastic.md has it: a store on the first host, whose variables the workers get.
SCRIPT = f"""#SBATCH --nodes=2 --ntasks-per-node=2 --no-kill
export MDIST_ELASTIC_REPLICAS=4
secret={FOLDER}/secret.$SLURM_JOB_ID
{MDIST} secret "$secret"
coproc {MDIST} store "$(hostname):0" -n "$WORKERS" --job "$SLURM_JOB_ID" --secret-file "$secret"
trap 'kill "$COPROC_PID"' EXIT
while read -r variable <&"${{COPROC[0]}}"; do
    export "${{variable?}}"
    [[ $variable != MDIST_ELASTIC_MAX_WORKERS=* ]] || break
done
"""
SRUN = "srun --no-kill --kill-on-bad-exit=0"
ONE_STEP = f"{SRUN} {ELASTIC} $DEADLY\n"
# A step for each worker, which is started again until it ends well.
STEPS = f"""workers=()
for worker in 1 2 3 4; do
    until srun --exact -N1 -n1 {ELASTIC} $DEADLY; do echo again; done &
    workers+=($!)
done
wait "${{workers[@]}}"
"""


class Elastic(SlurmTest):
    def end_of(self, script, workers, limit_s=60, deadly="", lost=None):
        """The weight (or the digest of all) with which it ends, and all that it has said. `lost`: a host that ends."""
        job = Job("elastic", SCRIPT + script, WORKERS=workers, DEADLY=deadly, MDIST_COMMUNICATION_HEARTBEAT_TIMEOUT=f"{limit_s}s")
        if lost:
            job.await_words(r"(?s)(generation 1: .*){4}")
            self.lose_host(lost)
        job.await_end()
        said = job.said()
        job.output.unlink()
        found = re.search(r"^weights?(?: digest)?: (\S+)$", said, re.MULTILINE)
        if not found and re.search("ABORTED|DATA_LOSS|TIMEOUT|PEER_LOST", said):
            raise Late(said)
        self.assertIsNotNone(found, said)
        return found[1], said

    def undisturbed(self):
        weight, _ = self.end_of(ONE_STEP, "1:4")
        self.assertRegex(weight, r"^3\.0")
        return weight

    @in_time(3)  # nobody tells the store that a process has ended, so it waits so long for its word
    def test_a_step_goes_on_without_a_worker_that_is_killed(self, limit_s):
        weight, said = self.end_of(ONE_STEP, "1:4", limit_s, deadly="70")
        self.assertRegex(said, r"srun: error: host\d: task 1: Killed")
        self.assertEqual(weight, self.undisturbed(), said)

    @in_time(3)
    def test_a_worker_that_is_killed_is_started_again(self, limit_s):
        weight, said = self.end_of(STEPS, "4:4", limit_s, deadly="70")
        self.assertEqual(said.count("again"), 1, said)
        self.assertEqual(weight, self.undisturbed(), said)

    @unittest.skipUnless(TRAINING, "this build has no fashion_mnist")
    @in_time(3)
    def test_a_job_goes_on_without_a_host(self, limit_s):
        script = f"{SRUN} {TRAINING[0]} --elastic --epochs 1\n"
        digest, said = self.end_of(script, "1:4", limit_s, lost=2)
        self.assertRegex(said, "generation 2: worker 0 of 2")
        self.assertEqual(digest, self.end_of(script, "1:4")[0], said)


if __name__ == "__main__":
    main()
