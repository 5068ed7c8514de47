# SPDX-License-Identifier: MIT
"""Exit statuses of scripts/vm that are not the program's own, and the failure that carries them."""

GUEST_PANIC = 120
QEMU_DIED = 121
DEVICE_DIED = 122
TIMEOUT = 124
SETUP = 125


class VmFailure(Exception):
    """The VM did not deliver the program's own exit status; `status` is what scripts/vm ends with."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status
