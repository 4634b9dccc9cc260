# SPDX-License-Identifier: Apache-2.0
"""Scene: measures all contestants at one place, in turns, and evaluates the figures."""
import dataclasses
import statistics
import sys

import goals
from contestants import commands, variants
from launch import Failed, Place, Skipped, TooLong, launch

OWN = ("libmdist", "libmdist, own memory")
FLOORS = ("floor, pull", "floor, push")
WORTH = 1.3  # variants that took this many times as long as the family's fastest in the first round are left out


@dataclasses.dataclass
class Plan:
    place: Place
    sizes: list
    rounds: int
    seconds: float  # for each size
    rate_bits: float = 0  # of each host's link

    @property
    def name(self):
        return self.place.name

    def bound_ns(self, size):
        """Returns the time that the wire needs for the bytes of a ring of the hosts, without headers."""
        n = self.place.host_count
        return 2 * (n - 1) / n * size * 8 / self.rate_bits * 1e9 if self.rate_bits else None


class Scene:
    def __init__(self, plan, folder, missing, wanted):
        self.plan, self.folder = plan, folder
        self.samples = {}  # (variant, size) -> {round: ns}
        self.reasons = {}  # family -> why it is missing, or missing in some round
        self.variants = []
        self.too_long = set()  # ways of families that did not end in time: not worth waiting for again
        for variant in variants(plan.place.between_hosts):
            if not any(text in variant.family.lower() or text in variant.program for text in wanted.lower().split(",")):
                continue
            if variant.program in missing:
                self.reasons[variant.family] = missing[variant.program]
            else:
                self.variants.append(variant)

    def measure(self):
        plans = {variant: list(self.plan.sizes) for variant in self.variants}
        for number in range(self.plan.rounds):
            print(f"{self.plan.name}: round {number + 1} of {self.plan.rounds}", file=sys.stderr)
            for variant, sizes in list(plans.items()):
                if sizes and not self.take(variant, sizes, number):
                    del plans[variant]
            if number == 0:
                plans = {variant: [size for size in sizes if self.is_worth(variant, size)]
                         for variant, sizes in plans.items()}
        return self.result()

    def take(self, variant, sizes, number):
        """Returns whether the variant runs in later rounds."""
        if way_of(variant) in self.too_long:
            return False
        limit = 30 + len(sizes) * (5 if not self.plan.place.between_hosts else 30)
        try:
            taken = launch(commands(variant, self.plan.place, self.folder, sizes, self.plan.seconds), limit)
        except Skipped as reason:
            self.reasons[variant.family] = f"skipped: {reason}"
            return False
        except Failed as reason:
            self.reasons[variant.family] = f"failed: {variant.name}, round {number + 1}: {reason}"
            if isinstance(reason, TooLong):
                self.too_long.add(way_of(variant))
            return False
        for size, ns in taken.items():
            self.samples.setdefault((variant, size), {})[number] = ns
        return True

    def is_worth(self, variant, size):
        family = [by_round[0] for (other, of), by_round in self.samples.items()
                  if other.family == variant.family and of == size and 0 in by_round]
        mine = self.samples.get((variant, size), {}).get(0)
        return mine is not None and mine <= WORTH * min(family)

    def best_of(self, family, size):
        """Returns the variant of the family that is fastest at this size, or None."""
        own = [(statistics.median(by_round.values()), variant.name, variant)
               for (variant, of), by_round in self.samples.items() if variant.family == family and of == size]
        # A variant that was left out after the first round has too few samples.
        most = max((len(self.samples[variant, size]) for _, _, variant in own), default=0)
        own = [entry for entry in own if 2 * len(self.samples[entry[2], size]) >= most]
        return min(own)[2] if own else None

    def result(self):
        rows = []
        for size in self.plan.sizes:
            times, best = {}, {}
            for family in dict.fromkeys(variant.family for variant in self.variants):
                variant = self.best_of(family, size)
                if variant is None:
                    continue
                best[family] = self.samples[variant, size]
                times[family] = {"ns": statistics.median(best[family].values()), "best_ns": min(best[family].values()),
                                 "variant": variant.name, "rounds": len(best[family])}
            row = {"bytes": size, "bound_ns": self.plan.bound_ns(size), "times": times, **compared(times, best),
                   "to_floor": to_floors(size, best)}
            rows.append({**row, "goals": self.judged(row)})
        return {"name": self.plan.name, "workers": self.plan.place.workers, "per_host": self.plan.place.per_host,
                "between_hosts": self.plan.place.between_hosts, "rows": rows, "not_here": self.reasons}

    def judged(self, row):
        """Returns {family: {text, holds}} for the families that have a goal."""
        judged = {}
        for own, speedup in row["speedup"].items():
            own_ns, peer_ns = row["times"][own]["ns"], row["times"][row["best_peer"]]["ns"]
            if self.plan.place.between_hosts:
                goal = goals.between_hosts(row["bytes"], speedup, (row["bound_ns"] or 0) / own_ns)
            else:
                goal = goals.one_host(row["bytes"], self.plan.place.workers, own == OWN[1], speedup, own_ns, peer_ns)
            if goal:
                judged[own] = dataclasses.asdict(goal)
        return judged


def way_of(variant):
    """Returns what makes it slow: wherever its buffers lie."""
    return variant.family, variant.variables, tuple(word for word in variant.arguments if word != "--separate")


def compared(times, best):
    """Returns the fastest peer, and how many times as fast the library is: the median of the rounds' ratios."""
    peers = {family: entry["ns"] for family, entry in times.items() if family not in OWN + FLOORS}
    if not peers:
        return {"best_peer": None, "speedup": {}}
    peer = min(peers, key=peers.get)
    speedup = {}
    for own in OWN:
        common = best.get(own, {}).keys() & best[peer].keys()
        if common:
            speedup[own] = statistics.median(best[peer][number] / best[own][number] for number in common)
    return {"best_peer": peer, "speedup": speedup}


def to_floors(size, best):
    """Returns {floor: how many times as long own memory takes}: the median of the rounds' ratios, and their range."""
    found = {}
    for floor in FLOORS:
        common = best.get(OWN[1], {}).keys() & best.get(floor, {}).keys()
        ratios = [best[OWN[1]][number] / best[floor][number] for number in common]
        if ratios:
            ratio = statistics.median(ratios)
            goal = goals.own_memory(size, ratio) if floor == FLOORS[0] else None
            found[floor] = {"ratio": ratio, "range": [min(ratios), max(ratios)],
                            "goal": dataclasses.asdict(goal) if goal else None}
    return found
