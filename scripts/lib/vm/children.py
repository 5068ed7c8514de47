# SPDX-License-Identifier: MIT
"""The processes around a VM. Every one dies with this process, however this process ends."""

import ctypes
import os
import select
import signal
import subprocess
import time

from status import SETUP, VmFailure

_libc = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1


def _die_with_parent():
    os.setpgid(0, 0)  # Ctrl-C is for this script, which ends its children in order
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


class Child:
    """One process, its log file, and its orderly end."""

    def __init__(self, name, argv, log, **kwargs):
        self.name = name
        self.log = log
        with open(log, "ab") as out:
            kwargs.setdefault("stdout", out)
            try:
                self.process = subprocess.Popen(
                    argv, stdin=subprocess.DEVNULL, stderr=out, preexec_fn=_die_with_parent, **kwargs)
            except OSError as error:
                raise VmFailure(SETUP, "cannot run %s: %s" % (argv[0], error)) from error

    def log_tail(self, lines=15):
        """The end of what it wrote, for a message."""
        with open(self.log, "rb") as log:
            return "\n".join(log.read().decode("utf-8", "replace").splitlines()[-lines:])

    def dead(self):
        """True once it has ended."""
        return self.process.poll() is not None

    def end(self, patience=5.0):
        """Asks it to end, then insists. Harmless if it is gone."""
        if self.dead():
            return
        self.process.terminate()
        try:
            self.process.wait(patience)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def wait_for_socket(child, path, seconds=60):
    """Waits until a child listens on the unix socket `path`."""
    limit = time.monotonic() + seconds
    while not os.path.exists(path):
        if child.dead():
            raise VmFailure(SETUP, "%s ended with status %d:\n%s"
                            % (child.name, child.process.returncode, child.log_tail()))
        if time.monotonic() > limit:
            raise VmFailure(SETUP, "%s did not come up in %d s" % (child.name, seconds))
        time.sleep(0.005)


def start_virtiofsd(name, socket, source, cache, log, binds=()):
    """Serves the folder `source` by virtiofs. `binds` are (host path, name in source) pairs that are mounted there, in
    a mount namespace of the daemon's own, so that they vanish with it."""
    classic = "/usr/lib/qemu/virtiofsd"
    if os.path.exists(classic):
        command = [classic, "--socket-path=" + socket, "--thread-pool-size=1", "-o",
                   "source=%s,cache=%s,sandbox=chroot,xattr" % (source, cache)]
    else:
        command = ["/usr/libexec/virtiofsd", "--socket-path=" + socket, "--shared-dir=" + source,
                   "--cache=" + cache, "--sandbox=chroot", "--xattr"]
    if binds:
        mounts = ['mount --bind "$1" "$2"; shift 2'] * len(binds)
        paths = [part for host, inside in binds for part in (host, os.path.join(source, inside))]
        command = ["unshare", "--mount", "--propagation", "private", "sh", "-euc",
                   "; ".join(mounts) + '; exec "$@"', name] + paths + command
    return Child(name, command, log)


def start_gpu(program, index, directory, ram_file, ram_size, vram, strict):
    """Starts one virtual GPU process and returns (child, socket) once it listens."""
    socket = os.path.join(directory, "gpu%d.sock" % index)
    argv = [program, "--socket", socket, "--ram-file", ram_file, "--ram-size", str(ram_size), "--vram", str(vram),
            "--name", "gpu%d" % index, "--counters-file", os.path.join(directory, "gpu%d.counters" % index)]
    if strict:
        argv.append("--strict")
    child = Child("virtual GPU %d" % index, argv, os.path.join(directory, "gpu%d.log" % index),
                  stdout=subprocess.PIPE)
    return child, socket


def wait_ready(child, seconds=60):
    """Waits for the line "ready" of a virtual GPU."""
    got = b""
    limit = time.monotonic() + seconds
    out = child.process.stdout
    while b"ready\n" not in got:
        left = limit - time.monotonic()
        readable = left > 0 and select.select([out], [], [], left)[0]
        chunk = os.read(out.fileno(), 4096) if readable else b""
        if not chunk:
            child.end()
            raise VmFailure(SETUP, "%s did not get ready (exit status %s):\n%s"
                            % (child.name, child.process.returncode, child.log_tail()))
        got += chunk
