# SPDX-License-Identifier: Apache-2.0
"""Goals: the speed that libmdist should reach beside the best peer and the bare exchange. A missed goal is reported, but is no failure."""
import dataclasses

KIB, MIB = 1 << 10, 1 << 20


@dataclasses.dataclass
class Goal:
    text: str
    holds: bool


def at_least(speedup, wanted):
    return Goal(f"{wanted:g}x", speedup >= wanted)


def latency(own_ns, peer_ns):
    return Goal("+150 ns or 1.1x", own_ns <= max(peer_ns + 150, peer_ns * 1.1))


def one_host(size, workers, memory_is_own, speedup, own_ns, peer_ns):
    if memory_is_own:
        return at_least(speedup, 2) if size >= MIB and workers == 2 else None
    if workers == 2:
        if size <= 16 * KIB:
            return latency(own_ns, peer_ns)
        return at_least(speedup, 1.3 if size >= 16 * MIB else 1.1) if size >= MIB else None
    if workers == 4:
        return at_least(speedup, 1.5 if size >= MIB else 1.2) if size >= 256 * KIB else None
    return None


def own_memory(size, ratio):
    """The time with the library's own memory over that of the bare pull exchange."""
    if size < MIB:
        return None
    most = 1.15 if size >= 16 * MIB else 1.3
    return Goal(f"at most {most:g}x", ratio <= most)


def between_hosts(size, speedup, share_of_wire):
    if size >= 64 * MIB:
        return Goal("90 % of the wire", share_of_wire >= 0.9)
    return at_least(speedup, 0.91 if size >= MIB else 1)
