# SPDX-License-Identifier: MIT
"""QEMU's control protocol, as much as is needed here: one command, one answer."""

import json
import socket
import time

from status import QEMU_DIED, SETUP, VmFailure


class Qmp:
    """A connection to one QEMU. Not for use by several threads."""

    def __init__(self, path, child, seconds=60):
        limit = time.monotonic() + seconds
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(seconds)
        while True:
            try:
                self._socket.connect(path)
                break
            except OSError as error:
                if child.dead() or time.monotonic() > limit:
                    raise VmFailure(SETUP, "QEMU did not start:\n" + child.log_tail()) from error
                time.sleep(0.01)
        self._file = self._socket.makefile("rw", encoding="utf-8")
        self._read()
        self.command("qmp_capabilities")

    def _read(self):
        try:
            line = self._file.readline()
        except OSError as error:
            raise VmFailure(QEMU_DIED, "QEMU does not answer: %s" % error) from error
        if not line:
            raise VmFailure(QEMU_DIED, "QEMU closed its control connection")
        return json.loads(line)

    def command(self, name, **arguments):
        """Carries out one command and returns its result; raises VmFailure with QEMU's own words."""
        request = {"execute": name}
        if arguments:
            request["arguments"] = {key.replace("_", "-"): value for key, value in arguments.items()}
        try:
            self._file.write(json.dumps(request) + "\n")
            self._file.flush()
        except OSError as error:
            raise VmFailure(QEMU_DIED, "QEMU is gone: %s" % error) from error
        while True:
            answer = self._read()
            if "error" in answer:
                raise VmFailure(SETUP, "QEMU refuses %s: %s" % (name, answer["error"]["desc"]))
            if "return" in answer:
                return answer["return"]

    def close(self):
        """Drops the connection; QEMU goes on."""
        self._file.close()
        self._socket.close()
