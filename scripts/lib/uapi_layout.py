# SPDX-License-Identifier: MIT
"""Run inside the Debian 13 tree: prints for each struct and union of the uapi "pass NAME" or "fail NAME REASON".

The layout must be the same in C and C++, for 64 and 32 bit, without holes and padding. pahole reads it from the
debug information that the compilers leave.
"""

import glob
import os
import re
import subprocess
import sys
import tempfile

FLAGS = ["-g", "-c", "-Wall", "-Wextra", "-Werror", "-fno-eliminate-unused-debug-types", "-I/vze/uapi",
         "-I/usr/include/libdrm"]
COMPILERS = {
    "C, 64 bit": ["gcc", "-m64", "-std=gnu99"],
    "C, 32 bit": ["gcc", "-m32", "-std=gnu99"],
    "C++, 64 bit": ["g++", "-m64", "-std=c++20"],
    "C++, 32 bit": ["g++", "-m32", "-std=c++20"],
}
DECLARED = re.compile(r"^(?:struct|union) ((?:drm_)?vze_\w+) \{", re.MULTILINE)
BEGIN = re.compile(r"^(?:struct|union) (\w+) \{$")
# Names of base types differ (long long, long unsigned int): what counts is name, offset and size of each member.
MEMBER = re.compile(r"([A-Za-z_]\w*(?:\[\d*\])*);\s*/\*\s*(\d+)\s+(\d+)\s*\*/")


def layouts(path):
    """{name: (members and sizes, complaints)} of the types in an object file."""
    # pahole 1.30 ends with 1 even when it printed all: what is missing shows in the result.
    text = subprocess.run(["pahole", "-F", "dwarf", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True, check=False).stdout
    found = {}
    name = None
    for line in text.splitlines():
        begin = BEGIN.match(line)
        if begin:
            name, members, complaints = begin.group(1), [], []
        elif name and line.startswith("}"):
            found[name] = (members, complaints)
            name = None
        elif name:
            member = MEMBER.search(line)
            if member:
                members.append(member.groups())
            size = re.search(r"/\* size: (\d+)", line)
            if size:
                members.append(("size", size.group(1)))
            if "XXX" in line or "padding:" in line or "bit hole" in line:
                complaints.append(line.strip(" \t/*"))
    return found


def main():
    """Returns the exit status: 0 even if a layout is wrong, for the caller counts the lines."""
    headers = sorted(glob.glob("/vze/uapi/drm/*.h"))
    names = []
    for header in headers:
        with open(header, encoding="utf-8") as file:
            names += DECLARED.findall(file.read())
    if not names:
        print("fail uapi no struct found")
        return 0
    tables = {}
    with tempfile.TemporaryDirectory() as folder:
        for kind, command in COMPILERS.items():
            source = os.path.join(folder, "all.c" if command[0] == "gcc" else "all.cc")
            with open(source, "w", encoding="utf-8") as out:
                out.write("".join("#include <drm/%s>\n" % os.path.basename(header) for header in headers))
            made = os.path.join(folder, "all.o")
            compiled = subprocess.run(command + FLAGS + [source, "-o", made], stderr=subprocess.PIPE, text=True,
                                      check=False)
            if compiled.returncode:
                sys.stderr.write(compiled.stderr)
                print("fail uapi the headers do not compile as " + kind)
                return 0
            tables[kind] = layouts(made)
    reference = tables["C, 64 bit"]
    for name in names:
        if name not in reference or len(reference[name][0]) < 2:
            print("fail %s pahole shows no such type" % name)
            continue
        other = [kind for kind in COMPILERS if tables[kind].get(name, ((), ()))[0] != reference[name][0]]
        complaints = [complaint for kind in COMPILERS for complaint in tables[kind].get(name, ((), ()))[1]]
        if other:
            print("fail %s differs in %s" % (name, "; ".join(other)))
        elif complaints:
            print("fail %s %s" % (name, complaints[0]))
        else:
            print("pass %s" % name)
    return 0


sys.exit(main())
