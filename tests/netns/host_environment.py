# SPDX-License-Identifier: Apache-2.0
"""The environment of programs on hosts."""
import os


def environment(**own):
    """`own`, and of ours only what finds programs and what sanitizers are told."""
    ours = ("PATH", "ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS")
    return {**{name: os.environ[name] for name in ours if name in os.environ}, **own}
