# SPDX-License-Identifier: MIT
"""Saved machines: booted up to the point where the initramfs waits for its file systems."""

import hashlib
import os
import select
import subprocess
import sys
import time

import machine
from qmp import Qmp
from status import SETUP, VmFailure


def _artefact(recipe, cache):
    """The same naming as artefact_path in scripts/lib/artefact.sh."""
    key = hashlib.sha256(recipe.encode()).hexdigest()[:16]
    return os.path.join(cache, "snapshot-" + key)


def find_or_make(hardware, cache, top, options):
    """The folder of a snapshot of this machine; makes it if there is none. None if it cannot be made: then the
    VM boots cold."""
    recipe = hardware.recipe()
    path = _artefact(recipe, cache)
    if not os.path.isdir(path):
        made = subprocess.run(
            [os.path.join(top, "scripts/lib/make-artefact"), "snapshot", recipe, "512", sys.executable, "-B",
             os.path.join(top, "scripts/lib/vm"), "snapshot", "--kernel", options.kernel,
             "--mem", str(options.mem), "--cpus", str(options.cpus), "--"], check=False)
        if made.returncode != 0 or not os.path.isdir(path):
            print("vm: no snapshot could be made; booting cold", file=sys.stderr)
            return None
    os.utime(path + ".used", None) if os.path.exists(path + ".used") else open(path + ".used", "w").close()
    return path


def make(session, folder):
    """Boots the session's machine without its devices and saves it in `folder`."""
    hardware = session.build_machine()
    session.start_qemu(hardware.arguments(session.ram_file, session.directory))
    control = session.channels["ctl"]
    limit = time.monotonic() + machine.START_LIMIT
    while b"waiting\n" not in session.control:
        readable = select.select([control, session.channels["console"]], [], [], 1)[0]
        for endpoint in readable:
            data = endpoint.recv(65536)
            if not data:
                raise VmFailure(SETUP, "QEMU ended while it made a snapshot")
            if endpoint is control:
                session.control += data
        if time.monotonic() > limit:
            raise VmFailure(SETUP, "the guest did not come up in %d s" % machine.START_LIMIT)
    time.sleep(0.2)
    qmp = Qmp(os.path.join(session.directory, "qmp.sock"), session.qemu)
    _share_ram(qmp)
    qmp.command("stop")
    qmp.command("migrate", uri="exec:cat > '%s'" % os.path.join(folder, "state"))
    _wait_migrated(qmp)
    qmp.command("quit")
    session.qemu.process.wait(30)
    _copy_sparse(session.ram_file, os.path.join(folder, "ram"))


def copy_ram(folder, ram_file):
    """Gives a run its own copy of the saved memory."""
    _copy_sparse(os.path.join(folder, "ram"), ram_file)


def restore(qmp, folder):
    """Loads the state into a QEMU that was started with -incoming defer, and lets it run."""
    _share_ram(qmp)
    qmp.command("migrate-incoming", uri="exec:cat '%s'" % os.path.join(folder, "state"))
    _wait_migrated(qmp)
    qmp.command("cont")


def _share_ram(qmp):
    # The memory is a file of its own, not part of the state.
    qmp.command("migrate-set-capabilities", capabilities=[{"capability": "x-ignore-shared", "state": True}])


def _wait_migrated(qmp):
    limit = time.monotonic() + 60
    while True:
        state = qmp.command("query-migrate").get("status")
        if state == "completed":
            return
        if state in ("failed", "cancelled") or time.monotonic() > limit:
            raise VmFailure(SETUP, "QEMU's snapshot: migration state '%s'" % state)
        time.sleep(0.01)


def _copy_sparse(source, target):
    try:
        subprocess.run(["cp", "--sparse=always", source, target], check=True)
    except subprocess.CalledProcessError as error:
        raise VmFailure(SETUP, "cannot copy the guest's memory to %s (disk full?)" % target) from error
