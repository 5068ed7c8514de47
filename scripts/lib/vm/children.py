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

    def end_text(self):
        """How a dead one ended, and its last words."""
        status = self.process.returncode
        if status >= 0:
            how = "ended with status %d" % status
        else:
            how = "was ended by signal %d (%s)" % (-status, signal.strsignal(-status))
        if -status == signal.SIGBUS:
            how += ", as happens when the disk or /dev/shm is full"
        tail = self.log_tail()
        return "%s %s%s" % (self.name, how, ":\n" + tail if tail else "")

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
            raise VmFailure(SETUP, child.end_text())
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


def start_gpu(program, index, life, directory, options):
    """Starts the process of the virtual GPU `index`, its `life`th one, and returns (child, socket); wait_ready()
    tells when it listens. Socket, log and counters are files of its own in `directory`."""
    base = os.path.join(directory, gpu_chardev(index, life))
    argv = [program, "--socket", base + ".sock", "--name", "gpu%d" % index, "--counters-file", base + ".counters"]
    child = Child("virtual GPU %d" % index, argv + options, base + ".log", stdout=subprocess.PIPE)
    return child, base + ".sock"


def gpu_chardev(index, life):
    """Name of the connection to the `life`th process of a virtual GPU; the first is the plain name."""
    return "gpu%d" % index if life == 1 else "gpu%d-%d" % (index, life)


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
