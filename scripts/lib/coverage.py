# SPDX-License-Identifier: MIT
"""Line coverage of the kernel module, from what gcov's kernel side left after a run.

  coverage.py COUNTS OBJECTS MINIMUM

COUNTS holds the .gcda files of the run, OBJECTS the .gcno files of the build. Prints each file's share, then the lines
that never ran, as ranges. Exits with 1 if the share of the whole module is below MINIMUM percent, or if nothing was measured.
"""

import collections
import json
import os
import shutil
import subprocess
import sys
import tempfile


def measure(counts, objects):
    """{file: {line: times}} of the module's own C files and headers."""
    lines = collections.defaultdict(lambda: collections.defaultdict(int))
    with tempfile.TemporaryDirectory() as folder:
        for root, _, names in os.walk(counts):
            for name in sorted(names):
                if not name.endswith(".gcda"):
                    continue
                stem = name[:-len(".gcda")]
                notes = os.path.join(objects, stem + ".gcno")
                if not os.path.exists(notes):
                    continue
                shutil.copy(os.path.join(root, name), folder)
                shutil.copy(notes, folder)
                text = subprocess.run(["gcov", "--json-format", "--stdout", stem + ".gcda"], cwd=folder, check=True,
                                      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
                for report in text.splitlines():
                    for file in json.loads(report)["files"]:
                        if "/kernel/vze_" not in "/" + file["file"] or "/linux" in file["file"]:
                            continue
                        for line in file["lines"]:
                            lines[os.path.basename(file["file"])][line["line_number"]] += line["count"]
    return lines


def ranges(numbers):
    """"3-5 9" of [3, 4, 5, 9]."""
    parts = []
    for number in sorted(numbers):
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return " ".join("%d" % a if a == b else "%d-%d" % (a, b) for a, b in parts)


def main(counts, objects, minimum):
    """Returns the exit status."""
    lines = measure(counts, objects)
    if not lines:
        print("no coverage data of the module in %s" % counts)
        return 1
    total = ran = 0
    for name in sorted(lines):
        there = len(lines[name])
        hit = sum(1 for times in lines[name].values() if times)
        total += there
        ran += hit
        print("%-28s %5d of %5d lines %6.1f %%" % (name, hit, there, 100.0 * hit / there))
    print("%-28s %5d of %5d lines %6.1f %%" % ("module", ran, total, 100.0 * ran / total))
    print("lines never run:")
    for name in sorted(lines):
        never = [number for number, times in lines[name].items() if not times]
        if never:
            print("  %s: %s" % (name, ranges(never)))
    return 0 if 100.0 * ran / total >= float(minimum) else 1


sys.exit(main(*sys.argv[1:4]))
