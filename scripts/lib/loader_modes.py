# SPDX-License-Identifier: MIT
"""Runs GoogleTest programs of the driver in another mode of the loader, and compares with what is to come out there.

  loader_modes.py run MODE PROGRAM OUT [FILTER]   prints a line "pass|fail|skip TEST REASON" for each test
  loader_modes.py selftest                        shows that the comparison can fail, and that the list names tests that exist

MODE is validation (the validation layer with parameter validation and the leak checker) or intercept (the loader looks into
each handle). What a test may find otherwise there stands in tests/umd/loader_differences, with the reason. A difference that
is not listed is a failure, and so is a listed one that does not happen: the list is what the mode changes, no more and no less.
A test that skips because of the mode says "in this mode"; other skips have their cause elsewhere. OUT gets MODE-NAME.json and
MODE-NAME.log.
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LIST = os.path.join(TOP, "tests/umd/loader_differences")
LIMIT_S = 1500
MODES = {
    "validation": {
        "ZE_ENABLE_VALIDATION_LAYER": "1",
        "ZE_ENABLE_PARAMETER_VALIDATION": "1",
        "ZEL_ENABLE_BASIC_LEAK_CHECKER": "1",
    },
    "intercept": {"ZE_ENABLE_LOADER_INTERCEPT": "1"},
}
KILLED = "killed by "
BALANCE = "balance"
SKIP = "skip: "


def read_list(path):
    """{(mode, test): set of differences} of lines "MODE | TEST | DIFFERENCE | REASON"."""
    found = {}
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            parts = [part.strip() for part in line.split(" | ")]
            if len(parts) != 4 or parts[0] not in MODES or not all(parts):
                raise ValueError("%s:%d: this is not MODE | TEST | DIFFERENCE | REASON" % (path, number))
            differences = found.setdefault((parts[0], parts[1]), set())
            if parts[2] in differences:
                raise ValueError("%s:%d: listed twice" % (path, number))
            differences.add(parts[2])
    return found


def difference_of(text):
    """One failure in short: "EXPECTED -> GOT" for results of calls, else its first line without the place."""
    values = re.findall(r"^  (::vze::test::Result\{.*)\n    Which is: (\S+)$", text, re.MULTILINE)
    if len(values) == 2:
        return "%s -> %s" % (values[0][1], values[1][1])
    text = re.sub(r"^\S*/(\w+\.\w+):\d+\s*", r"\1 ", text.strip())
    return " ".join(text.split("\n\n")[0].split())[:200]


def outcomes(report):
    """{test: set of differences} of GoogleTest's JSON: "skipped" because of the mode, "skip: REASON" for another reason."""
    found = {}
    for group in report.get("testsuites", []):
        for test in group.get("testsuite", []):
            if test.get("status") == "NOTRUN":
                continue
            if test.get("failures"):
                seen = {difference_of(failure.get("failure", "")) for failure in test["failures"]}
            elif test.get("result") == "SKIPPED":
                reason = " ".join(part.get("message", "") for part in test.get("skipped", []))
                seen = {"skipped" if "in this mode" in reason else SKIP + " ".join(reason.split()[1:])}
            else:
                seen = set()
            found["%s.%s" % (group["name"], test["name"])] = seen
    return found


def unbalanced(log):
    """Differences that the leak checker found in the program itself. Children report before its last test has ended."""
    at = max((match.end() for match in re.finditer(r"^\[==========\] .* ran\.", log, re.MULTILINE)), default=len(log))
    return {"%s %s" % pair for pair in re.findall(r"--->\s+(\w+) = \d+\s+---> LEAK = (-?\d+)", log[at:])}


def compare(expected, seen):
    """(outcome, reason) of one test."""
    for each in seen:
        if each.startswith(SKIP):
            return "skip", each[len(SKIP):] or "no reason given"
    missing, more = expected - seen, seen - expected
    if more:
        return "fail", "not listed: " + "; ".join(sorted(more))
    if missing:
        return "fail", "listed, and does not happen: " + "; ".join(sorted(missing))
    return "pass", "as listed: " + "; ".join(sorted(seen)) if seen else ""


def load(path):
    """A JSON file, or None."""
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


def start(program, mode, arguments, log):
    """Runs the program to its end or limit; the exit status, negative for a signal."""
    with open(log, "w", encoding="utf-8") as out:
        process = subprocess.Popen([program] + arguments, env=dict(os.environ, **MODES[mode]), stdin=subprocess.DEVNULL,
                                   stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            return process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return process.wait()


def tests_of(program):
    """The names of a program's tests."""
    listing = subprocess.run([program, "--gtest_list_tests"], capture_output=True, text=True, check=True).stdout
    names, group = [], ""
    for line in listing.splitlines():
        word = line.split("#")[0].strip()
        if not line.startswith(" "):
            group = word
        elif word:
            names.append(group + word)
    return names


def signal_name(status):
    """What stands in the list for a program that a signal has ended."""
    return KILLED + signal.Signals(-status).name if status < 0 else "ended with %d" % status


def run(mode, program, out, text):
    """Prints the results of one program in one mode."""
    listed = read_list(LIST)
    name = os.path.basename(program)
    wanted = [test for test in tests_of(program) if text in test]
    if not wanted:
        return
    fatal = [test for test in wanted
             if any(each.startswith(KILLED) for each in listed.get((mode, test), ()))]
    base = os.path.join(out, "%s-%s" % (mode, name))
    report_path = base + ".json"
    if os.path.exists(report_path):
        os.unlink(report_path)
    status = start(program, mode, ["--gtest_output=json:" + report_path,
                                   "--gtest_filter=*%s*-%s" % (text, ":".join(fatal))], base + ".log")
    with open(base + ".log", encoding="utf-8", errors="replace") as file:
        log = file.read()
    report = load(report_path)
    if report is None:
        running = re.findall(r"^\[ RUN      \] (\S+)", log, re.MULTILINE)
        print("fail", running[-1] if running else "run", "the program's end:", signal_name(status))
        return
    if status not in (0, 1):
        print("fail exit the program's end:", signal_name(status))
    seen = outcomes(report)
    for test in fatal:
        alone = "%s-%s" % (base, test)
        seen[test] = {signal_name(start(program, mode, ["--gtest_filter=" + test], alone + ".log"))}
    for test in wanted:
        if test not in seen:
            print("fail", test, "it did not run")
            continue
        outcome, reason = compare(listed.get((mode, test), set()), seen[test])
        print(outcome, test, reason)
    if mode == "validation" and not text:
        outcome, reason = compare(listed.get((mode, "%s %s" % (BALANCE, name)), set()), unbalanced(log))
        print(outcome, BALANCE, reason)


def selftest():
    """0 when the comparison tells every kind of difference apart and the list is sound."""
    bad = []
    zero, one = set(), {"SUCCESS -> INVALID_ARGUMENT"}
    for expected, seen, outcome in [
            (zero, zero, "pass"), (one, one, "pass"), (zero, one, "fail"), (one, zero, "fail"),
            (one, one | {"SUCCESS -> UNKNOWN"}, "fail"), (zero, {SKIP + "no huge pages"}, "skip"), (zero, {"skipped"}, "fail"),
            ({"skipped"}, {"skipped"}, "pass"), ({"skipped"}, zero, "fail")]:
        if compare(expected, seen)[0] != outcome:
            bad.append("%s, %s is not told to be %s" % (expected, seen, outcome))
    failure = ("/x/a_test.cpp:7\nExpected equality of these values:\n  ::vze::test::Result{expected}\n    Which is: A_B\n"
               "  ::vze::test::Result{f(1)}\n    Which is: C\ndriver says: x\n")
    if difference_of(failure) != "A_B -> C" or difference_of("/x/a_test.cpp:7\nValue of: b\n\n") != "a_test.cpp Value of: b":
        bad.append("failures are not read")
    log = "zeA = 1 \\---> zeB = 0 ---> LEAK = 1\n[==========] 1 test from 1 test suite ran. (1 ms total)\n%s"
    if unbalanced(log % "") or unbalanced(log % "zeA = 1  \\--->  zeB = 2   ---> LEAK = -1\n") != {"zeB -1"}:
        bad.append("the leak checker's report is not read")
    with tempfile.NamedTemporaryFile("w", suffix=".list", delete=False) as wrong:
        wrong.write("validation | A.b | no reason\n")
    try:
        read_list(wrong.name)
        bad.append("a line without a reason is accepted")
    except ValueError:
        pass
    os.unlink(wrong.name)
    sources = {}
    folder = os.path.join(TOP, "tests/umd")
    for name in sorted(os.listdir(folder)):
        if name.endswith(".cpp"):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                sources[name] = file.read()
    for _, test in read_list(LIST):
        if test.startswith(BALANCE + " "):
            known = test.split()[1] + ".cpp" in sources
        else:
            known = any(re.search(r"^TEST(_F)?\(%s, %s\)" % tuple(test.split(".")), text, re.MULTILINE)
                        for text in sources.values())
        if not known:
            bad.append("there is no test %s" % test)
    print("\n".join(bad))
    return 1 if bad else 0


def main(arguments):
    """Returns the exit status."""
    if arguments[:1] == ["selftest"]:
        return selftest()
    if arguments[:1] != ["run"] or len(arguments) not in (4, 5):
        print(__doc__, file=sys.stderr)
        return 2
    run(arguments[1], arguments[2], arguments[3], arguments[4] if len(arguments) == 5 else "")
    return 0


sys.exit(main(sys.argv[1:]))
