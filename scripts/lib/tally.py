# SPDX-License-Identifier: MIT
"""Counts test results. A results file has one line for each test: outcome, suite, test, reason (by tabs).

  tally.py add RESULTS pass|fail|skip SUITE TEST [REASON]
  tally.py lines RESULTS SUITE FILE     lines of "pass|fail|skip TEST REASON"
  tally.py tap RESULTS SUITE LOG        kselftest's nested TAP, as run_kselftest.sh prints it
  tally.py gtest RESULTS SUITE JSON STATUS   GoogleTest's JSON and the program's exit status
  tally.py total RESULTS                prints what failed and was skipped, and the closing line
  tally.py selftest                     shows that broken results are counted as failures

A suite that crashed, said nothing, or said less than it announced counts as failed: nothing passes by silence.
"""

import json
import os
import re
import sys
import tempfile

RESULT = re.compile(r"^(not ok|ok) (\d+)\s*-?\s*(.*)$")


class Results:
    """Lines of a results file, by append."""

    def __init__(self, path):
        self.path = path

    def add(self, outcome, suite, test, reason=""):
        """One more test."""
        line = "\t".join(part.replace("\t", " ").replace("\n", " ") for part in (outcome, suite, test, reason))
        with open(self.path, "a", encoding="utf-8") as out:
            out.write(line + "\n")

    def lines(self):
        """All tests so far."""
        if not os.path.exists(self.path):
            return []
        with open(self.path, encoding="utf-8") as file:
            return [line.rstrip("\n").split("\t") for line in file]


def split_result(text):
    """(outcome, name, reason) of the text of an "ok" or "not ok" line without its number."""
    name, _, directive = text.partition(" # ")
    if directive.upper().startswith("SKIP"):
        return "skip", name.strip(), directive[4:].strip() or "no reason given"
    return None, name.strip(), directive.strip()


class Program:
    """The results of one kselftest program, while its output is read."""

    def __init__(self):
        self.planned = None
        self.tests = []

    def line(self, text):
        """One line of the program's own TAP."""
        plan = re.match(r"^1\.\.(\d+)", text)
        if plan:
            self.planned = int(plan.group(1))
            skip = re.search(r"# SKIP\s*(.*)", text)
            if skip and self.planned == 0:
                self.tests.append(("skip", "all", skip.group(1) or "no reason given"))
            return
        result = RESULT.match(text)
        if result:
            directive, name, reason = split_result(result.group(3))
            outcome = directive or ("pass" if result.group(1) == "ok" else "fail")
            self.tests.append((outcome, name, reason))

    def finish(self, results, suite, name, outcome, reason):
        """The runner's own verdict about the program has come."""
        for test in self.tests:
            results.add(test[0], suite, "%s: %s" % (name, test[1]), test[2])
        missing = (self.planned or 0) - len(self.tests)
        if missing > 0:
            for _ in range(missing):
                results.add("fail", suite, "%s: no result" % name, "the program ended before this test")
        if outcome == "fail" and missing <= 0 and not any(test[0] == "fail" for test in self.tests):
            results.add("fail", suite, name, reason or "failed outside of its tests")
        elif not self.tests and missing <= 0:
            if outcome == "skip":
                results.add("skip", suite, name, reason)
            else:
                results.add("fail", suite, name, "printed no test result")


def add_lines(results, suite, path):
    """Adds the tests of a file of lines; no line at all is a failure, and so is what is no result."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = [line.split(None, 2) for line in file if line.strip()]
    except OSError:
        lines = []
    if not lines:
        results.add("fail", suite, "run", "no result")
    for line in lines:
        if len(line) < 2 or line[0] not in ("pass", "fail", "skip"):
            results.add("fail", suite, "run", "this is no result: " + " ".join(line))
        else:
            results.add(line[0], suite, line[1], line[2].strip() if len(line) > 2 else "")


def add_tap(results, suite, log):
    """Adds the tests of a run_kselftest.sh log. The runner prefixes the programs' lines with "# "."""
    program = Program()
    planned = None
    seen = 0
    try:
        with open(log, encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()
    except FileNotFoundError:
        lines = []
    for line in lines:
        if line.startswith("# "):
            program.line(line[2:])
            continue
        plan = re.match(r"^1\.\.(\d+)", line)
        if plan:
            planned = int(plan.group(1))
            continue
        result = RESULT.match(line)
        if result:
            seen += 1
            directive, name, reason = split_result(result.group(3))
            outcome = directive or ("pass" if result.group(1) == "ok" else "fail")
            program.finish(results, suite, name.split(": ")[-1], outcome, reason)
            program = Program()
    if planned is None:
        results.add("fail", suite, "run", "no plan in %s: the run did not start" % log)
        return
    if seen < planned:
        program.finish(results, suite, "program %d" % (seen + 1), "fail", "the run ended here")
        for number in range(seen + 2, planned + 1):
            results.add("fail", suite, "program %d" % number, "did not run")


def add_gtest(results, suite, path, status):
    """Adds the tests of a GoogleTest program from its JSON."""
    try:
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
    except (OSError, ValueError):
        results.add("fail", suite, "run", "no report: the program crashed or did not run (status %d)" % status)
        return
    failed = 0
    ran = 0
    for group in report.get("testsuites", []):
        for test in group.get("testsuite", []):
            name = "%s.%s" % (group["name"], test["name"])
            if test.get("status") == "NOTRUN":
                continue
            ran += 1
            if test.get("failures"):
                failed += 1
                results.add("fail", suite, name, test["failures"][0].get("failure", "").strip()[:300])
            elif test.get("result") == "SKIPPED":
                reason = " ".join(part.get("message", "") for part in test.get("skipped", []))
                reason = re.sub(r"^\S+:\d+\s*", "", reason.strip())
                results.add("skip", suite, name, reason or "no reason given")
            else:
                results.add("pass", suite, name)
    if status != 0 and failed == 0:
        results.add("fail", suite, "exit", "all tests passed, but the program ended with status %d" % status)
    elif ran == 0:
        results.add("fail", suite, "run", "the program ran no test")


def total(results, out):
    """Prints the failures, the skips and the closing line; returns the exit status."""
    lines = results.lines()
    counts = {"pass": 0, "fail": 0, "skip": 0}
    suites = {}
    for outcome, suite, _, _ in lines:
        counts[outcome] += 1
        suites.setdefault(suite, {"pass": 0, "fail": 0, "skip": 0})[outcome] += 1
    for suite, numbers in suites.items():
        print("%-28s %5d passed %4d failed %4d skipped"
              % (suite, numbers["pass"], numbers["fail"], numbers["skip"]), file=out)
    for outcome, word in (("skip", "SKIPPED"), ("fail", "FAILED")):
        for line in lines:
            if line[0] == outcome:
                print("%s %s: %s%s" % (word, line[1], line[2], ": " + line[3] if line[3] else ""), file=out)
    closing = "%d passed, %d failed" % (counts["pass"], counts["fail"])
    if counts["skip"]:
        closing += ", %d skipped" % counts["skip"]
    print(closing, file=out)
    return 0 if counts["fail"] == 0 and counts["pass"] > 0 else 1


def selftest():
    """Feeds broken results and checks that each is counted as a failure."""
    tap_ok = "TAP version 13\n1..1\n# TAP version 13\n# 1..2\n# ok 1 a\n# ok 2 b # SKIP no device\nok 1 selftests: vze: x\n"
    cases = [
        (tap_ok, {"pass": 1, "skip": 1}),
        (tap_ok.replace("# ok 2 b # SKIP no device\n", "").replace("\nok 1", "\nnot ok 1"), {"pass": 1, "fail": 1}),
        (tap_ok.replace("ok 2 b # SKIP no device", "not ok 2 b"), {"pass": 1, "fail": 1}),
        (tap_ok.replace("\nok 1 selftests", "\nnot ok 1 selftests"), {"pass": 1, "skip": 1, "fail": 1}),
        ("", {"fail": 1}),
        ("TAP version 13\n1..3\n# 1..1\n# ok 1 a\nok 1 selftests: vze: x\n# 1..2\n# ok 1 a\n",
         {"pass": 2, "fail": 2}),
        ("TAP version 13\n1..1\nok 1 selftests: vze: silent\n", {"fail": 1}),
    ]
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "log")
        for number, (text, expected) in enumerate(cases):
            results = Results(os.path.join(folder, "results%d" % number))
            with open(log, "w", encoding="utf-8") as out:
                out.write(text)
            add_tap(results, "s", log)
            got = {}
            for line in results.lines():
                got[line[0]] = got.get(line[0], 0) + 1
            if got != expected:
                bad += 1
                print("case %d: expected %s, got %s" % (number, expected, got), file=sys.stderr)
        results = Results(os.path.join(folder, "lines"))
        with open(log, "w", encoding="utf-8") as out:
            out.write("pass a\nskip b no such\tthing\nfail c\nnonsense\n")
        add_lines(results, "s", log)
        add_lines(results, "s", os.path.join(folder, "absent"))
        if [(line[0], line[2]) for line in results.lines()] != [("pass", "a"), ("skip", "b"), ("fail", "c"),
                                                               ("fail", "run"), ("fail", "run")]:
            bad += 1
            print("lines: got %s" % results.lines(), file=sys.stderr)
        results = Results(os.path.join(folder, "gtest"))
        add_gtest(results, "s", os.path.join(folder, "absent.json"), 139)
        with open(log, "w", encoding="utf-8") as out:
            json.dump({"testsuites": [{"name": "G", "testsuite": [{"name": "t", "status": "RUN"}]}]}, out)
        add_gtest(results, "s", log, 1)
        if [line[0] for line in results.lines()] != ["fail", "pass", "fail"]:
            bad += 1
            print("gtest: got %s" % results.lines(), file=sys.stderr)
        with open(os.devnull, "w", encoding="utf-8") as nowhere:
            if total(results, nowhere) == 0 or total(Results(os.path.join(folder, "none")), nowhere) == 0:
                bad += 1
                print("total: failures or no tests at all ended with 0", file=sys.stderr)
    return 1 if bad else 0


def main(arguments):
    """Returns the exit status."""
    command = arguments[0] if arguments else ""
    if command == "selftest":
        return selftest()
    results = Results(arguments[1])
    if command == "add":
        results.add(*arguments[2:])
    elif command == "lines":
        add_lines(results, arguments[2], arguments[3])
    elif command == "tap":
        add_tap(results, arguments[2], arguments[3])
    elif command == "gtest":
        add_gtest(results, arguments[2], arguments[3], int(arguments[4]))
    elif command == "total":
        return total(results, sys.stdout)
    else:
        print(__doc__, file=sys.stderr)
        return 2
    return 0


sys.exit(main(sys.argv[1:]))
