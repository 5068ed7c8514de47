# SPDX-License-Identifier: MIT
"""What a session that was killed left behind: its folder, and the guest's memory, which is real memory."""

import fcntl
import os
import shutil
import tempfile

PREFIX = "vze-vm-"
LOCK = "lock"


def claim(directory):
    """Marks the folder as one of a living process; returns what holds the mark until it is closed.

    The lock appears under its name only once it is held, so that nobody finds it free in between.
    """
    path = os.path.join(directory, LOCK)
    mark = os.open(path + ".new", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(mark, fcntl.LOCK_EX)
    os.rename(path + ".new", path)
    return mark


def remove(memory_folders):
    """Removes the folders whose process is gone, and their memory from `memory_folders`."""
    parent = tempfile.gettempdir()
    for name in os.listdir(parent):
        directory = os.path.join(parent, name)
        if not name.startswith(PREFIX):
            continue
        try:
            mark = os.open(os.path.join(directory, LOCK), os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            continue  # another user's, or one that is just being made or removed
        try:
            fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            continue
        else:
            for folder in memory_folders:
                for ending in (".ram", ".ram.state"):
                    path = os.path.join(folder, name + ending)
                    if os.path.exists(path):
                        os.unlink(path)
            shutil.rmtree(directory, ignore_errors=True)
        finally:
            os.close(mark)
