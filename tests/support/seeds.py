# SPDX-License-Identifier: Apache-2.0
"""Where random tests begin, and how much they do: random.h, in Python. The same commit draws the same cases in every run,
unless MDIST_TEST_SEED names another seed. MDIST_TEST_TIER=long asks for more."""
import os


def is_long():
    return os.environ.get("MDIST_TEST_TIER") == "long"


def test_seed(usual):
    """The seed that the environment asks for, or else the usual one. Prints it."""
    seed = int(os.environ.get("MDIST_TEST_SEED", usual))
    print(f"# seed {seed}; MDIST_TEST_SEED=... takes another", flush=True)
    return seed
