# SPDX-License-Identifier: Apache-2.0
"""Charts: what to draw of the reports of `run`, `collectives` and `gbdt`."""
import math
import statistics

from drawing import Chart, colors_of

STEPS = (1, 2, 5)  # ticks of ratios, in each decade
ORDINARY, OWN_MEMORY = "libmdist", "libmdist, own memory"


def bandwidth(workers, size, nanoseconds):
    """What each worker's wire would carry in an ideal all-reduce, in bytes per second (as nccl-tests counts)."""
    return 2 * (workers - 1) / workers * size / (nanoseconds * 1e-9)


def size_text(size):
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size / unit:g} {name}"
    return f"{size} B"


def rate_text(rate):
    for unit, name in ((1e9, "GB/s"), (1e6, "MB/s")):
        if rate >= unit:
            return f"{rate / unit:g} {name}"
    return f"{rate / 1e3:g} kB/s"


def sizes_of(rows):
    return [(size, size_text(size)) for size in dict.fromkeys(row["bytes"] for row in rows)]


def decades(values):
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return [(10**decade, rate_text(10**decade)) for decade in range(low, max(high, low + 1) + 1)]


def ratio_ticks(values):
    """From below the least of them to above the largest, and at least from 0.5x to 2x."""
    low, high = min(*values, 0.5), max(*values, 2)
    steps = STEPS if high / low < 1000 else STEPS[:1]
    found = [step * 10.0**decade for decade in range(-6, 7) for step in steps]
    first = max(i for i, tick in enumerate(found) if tick <= low * 1.0001)
    last = min(i for i, tick in enumerate(found) if tick >= high * 0.9999)
    return [(tick, f"{tick:g}x") for tick in found[first:last + 1]]


def points(curves):
    return [y for curve in curves.values() for _, y in curve]


def of_bandwidth(report, scene):
    """Of workers of one host: what each library, as shipped and at its best, carries. None if there is nothing to draw."""
    curves = {}
    for row in scene["rows"]:
        for name, times in row["times"].items():
            if not name.startswith("floor") and name != OWN_MEMORY:
                curves.setdefault(name, []).append((row["bytes"], bandwidth(scene["workers"], row["bytes"], times["ns"])))
    if not curves:
        return None
    return Chart(f'All-reduce of float32 by {scene["workers"]} processes of one host: bus bandwidth, higher is better',
                 report["machine"], "size of the message", sizes_of(scene["rows"]), decades(points(curves)), curves)


def ratios_by_size(title, meaning, machine, rows, curves):
    """Of curves {name: [(bytes, ratio)]}; None if there is nothing to draw. `meaning` says what a ratio is."""
    curves = {name: curve for name, curve in curves.items() if curve}
    if not curves:
        return None
    return Chart(title, f"{meaning}; {machine}", "size of the message", sizes_of(rows), ratio_ticks(points(curves)),
                 curves, level=1.0, colors=colors_of(curves))


def of_run(report):
    """Of each scene: every other's time over libmdist's; own memory's time over the bare exchanges'; bus bandwidths."""
    found = {}
    for scene in report["scenes"]:
        rows = [row for row in scene["rows"] if ORDINARY in row["times"]]
        names = dict.fromkeys(name for row in rows for name in row["times"] if not name.startswith(("libmdist", "floor")))
        others = {name: [(row["bytes"], row["times"][name]["ns"] / row["times"][ORDINARY]["ns"]) for row in rows
                         if name in row["times"]] for name in names}
        name = scene["name"].replace(",", "").replace(" ", "_")
        found[f"all_reduce_{name}"] = ratios_by_size(
            f"All-reduce, {scene['name']}", "time / libmdist's: above 1x, libmdist is faster",
            report["machine"], rows, others)
        floors = dict.fromkeys(floor for row in scene["rows"] for floor in row["to_floor"])
        curves = {floor: [(row["bytes"], row["to_floor"][floor]["ratio"]) for row in scene["rows"]
                          if floor in row["to_floor"]] for floor in floors}
        found[f"own_memory_{name}"] = ratios_by_size(
            f"All-reduce in own memory, {scene['name']}", "its time / the bare exchange's: lower is better",
            report["machine"], scene["rows"], curves)
        if not scene["between_hosts"]:
            found[f"bandwidth_{name}"] = of_bandwidth(report, scene)
    return found


def of_collectives(report):
    """Of each number of workers: Open MPI's time over libmdist's, a curve for each collective."""
    found, way = {}, report["way"]
    for scene in report["scenes"]:
        rows = [row for row in scene["rows"] if row["collective"] != "gbdt" and row["ratios"].get("openmpi")]
        curves = {}
        for row in rows:
            ratio = statistics.median(row["ratios"]["openmpi"])
            curves.setdefault(row["collective"], []).append((row["bytes"], ratio))
        found[f"collectives_{way}_{scene['workers']}_workers"] = ratios_by_size(
            f"{scene['workers']} workers, one host, {way}", "Open MPI's time / libmdist's: above 1x, libmdist is faster",
            report["machine"], rows, curves)
    return found


def of_gbdt(report):
    """Of each number of workers and way of libmdist: the others' times over libmdist's, by busy processes."""
    found = {}
    for workers in dict.fromkeys(cell["workers"] for cell in report["cells"]):
        cells = [cell for cell in report["cells"] if cell["workers"] == workers]
        for own in dict.fromkeys(own for cell in cells for own in cell["ratios"]):
            curves = {}
            for cell in cells:
                for other, ratio in cell["ratios"].get(own, {}).items():
                    curves.setdefault(other, []).append((cell["busy"], ratio["median"]))
            if curves:
                found[f"gbdt_{own.split()[-1]}_{workers}_workers"] = Chart(
                    f"LightGBM's pattern, {workers} workers, {own}",
                    f"time / libmdist's: above 1x, libmdist is faster; {report['machine']}", "other busy processes",
                    [(cell["busy"], str(cell["busy"])) for cell in cells], ratio_ticks(points(curves)), curves,
                    x_is_logarithmic=False, level=1.0, colors=colors_of(curves))
    return found


def charts_of(data):
    """Returns {name: chart} of a report, whichever program wrote it."""
    if "cells" in data:
        found = of_gbdt(data)
    elif "way" in data:
        found = of_collectives(data)
    elif "scenes" in data:
        found = of_run(data)
    else:
        found = {}
    return {name: chart for name, chart in found.items() if chart}
