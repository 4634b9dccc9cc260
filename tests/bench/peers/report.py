# SPDX-License-Identifier: Apache-2.0
"""The table for people."""
import json
import pathlib
import sys


def size_text(size):
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size // unit} {name}"
    return f"{size} B"


def time_text(ns):
    """Three digits, so that columns stay narrow."""
    for unit, name in ((1e9, "s"), (1e6, "ms"), (1e3, "us")):
        if ns >= unit:
            value = ns / unit
            return f"{value:.{2 if value < 10 else 1 if value < 100 else 0}f} {name}"
    return f"{ns:.0f} ns"


def print_lines(lines):
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    for line in lines:
        print("  ".join(text.rjust(width) for text, width in zip(line, widths)).rstrip())


def speedup_text(row, family):
    if family not in row["speedup"]:
        return "-"
    text = f"{row['speedup'][family]:.2f}x"
    goal = row["goals"].get(family)
    return f"{text} ({goal['text']}: {'ok' if goal['holds'] else 'missed'})" if goal else text


def floor_text(row, floor):
    entry = row["to_floor"].get(floor)
    if not entry:
        return "-"
    text = f"{entry['ratio']:.2f}x"
    goal = entry["goal"]
    return f"{text} ({goal['text']}: {'ok' if goal['holds'] else 'missed'})" if goal else text


def wire_text(row):
    """Returns how much of the wire's bound the library reaches, or the best peer if the library was not measured."""
    own = [entry["ns"] for family, entry in row["times"].items() if family.startswith("libmdist")]
    fastest = min(own or [entry["ns"] for entry in row["times"].values()], default=None)
    # The shaping lets short bursts through, so small messages are faster than the shaped rate.
    if fastest is None or not row["bound_ns"] or row["bytes"] < 1 << 20:
        return "-"
    return f"{100 * row['bound_ns'] / fastest:.0f} % of {time_text(row['bound_ns'])}"


def print_scene(scene):
    print(f"\n{scene['name']}\n")
    families = list(dict.fromkeys(family for row in scene["rows"] for family in row["times"]))
    own = [family for family in families if family.startswith("libmdist")]
    wire = ["of the wire's bound"] if scene["between_hosts"] else []
    floors = list(dict.fromkeys(floor for row in scene["rows"] for floor in row["to_floor"]))
    lines = [["bytes", *families, "best peer", *(f"{family} to it" for family in own),
              *(f"own memory to {floor}" for floor in floors), *wire]]
    for row in scene["rows"]:
        line = [size_text(row["bytes"])]
        line += [time_text(row["times"][family]["ns"]) if family in row["times"] else "-" for family in families]
        line += [row["best_peer"] or "-"]
        line += [speedup_text(row, family) for family in own]
        line += [floor_text(row, floor) for floor in floors]
        lines.append(line + ([wire_text(row)] if wire else []))
    print_lines(lines)
    for family, reason in scene["not_here"].items():
        print(f"    {family}: {reason}")


def print_report(report):
    print(f"{report['machine']}; medians of rounds in turns; NNx: that many times as fast, the "
          "median of the rounds' ratios"
          + ("; --quick: too few to judge by" if report["quick"] else ""))
    for scene in report["scenes"]:
        print_scene(scene)
    for what, reason in report["skipped"].items():
        print(f"\n{what}: {reason}")


if __name__ == "__main__":  # of a report of `run --json`
    print_report(json.loads(pathlib.Path(sys.argv[1]).read_text()))
