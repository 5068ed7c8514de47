# SPDX-License-Identifier: MIT
"""scripts/vm's second half: options and the way to a session. scripts/vm sets the VZE_* environment."""

import argparse
import os
import signal
import sys

import machine
import session
import snapshot
from status import SETUP, VmFailure

EPILOG = """
exit status: the program's own; or 120 the guest's kernel panicked, 121 QEMU died, 122 a process behind a virtual
GPU or file system died, 124 the time limit passed, 125 the VM could not be set up (a message on stderr says which
and why)

in the guest: this checkout is /vze (products in /vze/build), the --share folder is /mnt/share and the working
directory, everything else is a Debian 13 system whose changes are forgotten at the end; a line written to
/run/port-ctl asks for hotplug, answers are read from it: "unplug gpu0" (asks the guest's kernel, answers "gone gpu0"),
"pull gpu0" (answers "ready gpu0 BUS"; an eject by ACPI's hotplug registers, which the kernel does not notice, is then
answered "gone gpu0"), "plug gpu0" (with a new process; "plugged gpu0")
"""


def size(text):
    """A size in bytes, with an optional K, M or G."""
    factor = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(text[-1:].upper())
    digits = text[:-1] if factor else text
    if not digits.isdigit() or int(digits) == 0:
        raise argparse.ArgumentTypeError("'%s' is no size (like 512M or 4G)" % text)
    return int(digits) * (factor or 1)


def whole_mebibytes(text):
    """A size that QEMU and the device both take as it is."""
    value = size(text)
    if value % (1 << 20):
        raise argparse.ArgumentTypeError("'%s' is no multiple of 1M" % text)
    return value


def gpu_count(text):
    """0 up to the number of hotplug ports."""
    if not text.isdigit() or int(text) > machine.MAX_GPUS:
        raise argparse.ArgumentTypeError("'%s' is not between 0 and %d" % (text, machine.MAX_GPUS))
    return int(text)


def gpu_option(text):
    """N:OPTION as a pair."""
    number, colon, option = text.partition(":")
    if not number.isdigit() or not colon or not option.startswith("--"):
        raise argparse.ArgumentTypeError("'%s' is not N:--OPTION" % text)
    return int(number), option


def positive(text):
    """A number above 0."""
    if not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError("'%s' is no positive number" % text)
    return int(text)


def existing_directory(text):
    """A folder that is there."""
    if not os.path.isdir(text):
        raise argparse.ArgumentTypeError("there is no folder '%s'" % text)
    return text


def parse(arguments):
    """Options and command. Errors of usage end with status 125, not with argparse's 2."""
    parser = argparse.ArgumentParser(prog="scripts/vm", epilog=EPILOG,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("run", "shell", "snapshot"))
    parser.add_argument("--gpus", type=gpu_count, default=1, help="virtual GPUs, 0 to %d (1)" % machine.MAX_GPUS)
    parser.add_argument("--vram", type=whole_mebibytes, default=256 << 20, help="memory of each GPU (256M)")
    parser.add_argument("--mem", type=whole_mebibytes, default=2 << 30, help="memory of the guest (2G)")
    parser.add_argument("--cpus", type=positive, default=2, help="processors of the guest (2)")
    parser.add_argument("--kernel", default="6.12", help="6.12 or 7.2 (6.12)")
    parser.add_argument("--share", type=existing_directory, metavar="DIR", help="a folder of the host, at /mnt/share")
    parser.add_argument("--directory", metavar="DIR", help="working directory in the guest")
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="for the program")
    parser.add_argument("--timeout", type=positive, default=600, metavar="S", help="limit in seconds (600)")
    parser.add_argument("--load", choices=("module", "alias", "none"), default="module",
                        help="insmod of the built module, udev by PCI alias, or nothing (module)")
    parser.add_argument("--no-module", dest="load", action="store_const", const="none", help="same as --load none")
    parser.add_argument("--module", metavar="FILE", help="another vze.ko to insmod, by its path in the guest")
    parser.add_argument("--param", action="append", default=[], metavar="NAME=VALUE", help="of the kernel module")
    parser.add_argument("--root", type=existing_directory, metavar="DIR", help="another root file system")
    parser.add_argument("--no-strict", action="store_true", help="GPU without its strict checking")
    parser.add_argument("--gpu-option", action="append", default=[], type=gpu_option, metavar="N:OPTION",
                        help="for the process of GPU N, like 1:--interface-version=2.0")
    parser.add_argument("--ivshmem", action="append", default=[], type=whole_mebibytes, metavar="SIZE",
                        help="plain shared memory beside the GPUs: the same PCI id, no GPU behind it")
    parser.add_argument("--iommu", action="store_true", help="the guest has an IOMMU (boots cold)")
    parser.add_argument("--append", action="append", default=[], metavar="TEXT",
                        help="for the guest kernel's command line (boots cold)")
    parser.add_argument("--icount", action="store_true", help="the guest's clock counts instructions")
    parser.add_argument("--cold", action="store_true", help="boot, even if a snapshot fits")
    parser.add_argument("--console", action="store_true", help="show the guest's console on stderr")
    parser.add_argument("--dmesg", metavar="FILE", help="keep the guest's kernel log")
    parser.add_argument("--keep-logs", metavar="DIR", help="keep the logs and counters of devices and QEMU")

    command = []
    if "--" in arguments:
        cut = arguments.index("--")
        arguments, command = arguments[:cut], arguments[cut + 1:]
    try:
        options = parser.parse_args(arguments)
    except SystemExit as error:
        sys.exit(SETUP if error.code else 0)
    except argparse.ArgumentError as error:
        print("scripts/vm: error: %s" % error, file=sys.stderr)
        sys.exit(SETUP)
    if options.gpus + len(options.ivshmem) > machine.MAX_GPUS:
        print("scripts/vm: error: --gpus and --ivshmem together are more than %d" % machine.MAX_GPUS, file=sys.stderr)
        sys.exit(SETUP)
    for number, option in options.gpu_option:
        if number >= options.gpus:
            print("scripts/vm: error: --gpu-option %d:%s: there is no GPU %d" % (number, option, number),
                  file=sys.stderr)
            sys.exit(SETUP)
    options.interactive = options.action == "shell"
    options.command = command or (["bash"] if options.interactive else [])
    if options.action == "run" and not command:
        print("scripts/vm: error: no command (scripts/vm run [OPTIONS] -- COMMAND)", file=sys.stderr)
        sys.exit(SETUP)
    for assignment in options.env:
        if not assignment.partition("=")[0].isidentifier() or "=" not in assignment:
            print("scripts/vm: error: --env %s is not NAME=VALUE" % assignment, file=sys.stderr)
            sys.exit(SETUP)
    return options


def main():
    """Returns the exit status of scripts/vm."""
    def stop(number, _frame):
        raise VmFailure(128 + number, "ended by signal %d" % number)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stop)
    try:
        if sys.argv[1:2] == ["snapshot"]:
            # snapshot [OPTIONS] -- FOLDER, for scripts/lib/make-artefact
            options = parse(sys.argv[1:])
            with session.Session(options, os.environ) as maker:
                snapshot.make(maker, options.command[0])
            return 0
        return session.run(parse(sys.argv[1:]), os.environ)
    except VmFailure as failure:
        print("vm: " + str(failure), file=sys.stderr)
        return failure.status
    except OSError as error:
        print("vm: %s" % error, file=sys.stderr)
        return SETUP


sys.exit(main())
