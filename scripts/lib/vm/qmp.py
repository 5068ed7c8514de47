# SPDX-License-Identifier: MIT
"""QEMU's control protocol, as much as is needed here: one command, one answer."""

import json
import socket
import subprocess
import time

from status import QEMU_DIED, SETUP, VmFailure


class Qmp:
    """A connection to one QEMU. Not for use by several threads."""

    def __init__(self, path, child, seconds=60):
        limit = time.monotonic() + seconds
        self._child = child
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
        self._file = self._socket.makefile("r", encoding="utf-8")
        self._read()
        self.command("qmp_capabilities")

    def _read(self):
        try:
            line = self._file.readline()
        except OSError as error:
            raise self._gone("QEMU does not answer: %s" % error) from error
        if not line:
            raise self._gone("QEMU closed its control connection")
        return json.loads(line)

    def _gone(self, message):
        try:
            self._child.process.wait(2)
            message = self._child.end_text()
        except subprocess.TimeoutExpired:
            pass
        return VmFailure(QEMU_DIED, message)

    def command(self, name, descriptor=None, **arguments):
        """Carries out one command and returns its result; raises VmFailure with QEMU's own words. QEMU gets a copy of
        the file `descriptor`, if the command takes one."""
        request = {"execute": name}
        if arguments:
            request["arguments"] = {key.replace("_", "-"): value for key, value in arguments.items()}
        try:
            data = (json.dumps(request) + "\n").encode()
            if descriptor is not None:
                data = data[socket.send_fds(self._socket, [data], [descriptor]):]
            self._socket.sendall(data)
        except OSError as error:
            raise self._gone("QEMU is gone: %s" % error) from error
        while True:
            answer = self._read()
            if "error" in answer:
                raise VmFailure(SETUP, "QEMU refuses %s: %s" % (name, answer["error"]["desc"]))
            if "return" in answer:
                return answer["return"]

    def patient_command(self, name, seconds=30, **arguments):
        """The same for a command that QEMU refuses while the object is still busy."""
        limit = time.monotonic() + seconds
        while True:
            try:
                return self.command(name, **arguments)
            except VmFailure as failure:
                if "is busy" not in str(failure) or time.monotonic() > limit:
                    raise
                time.sleep(0.01)

    def close(self):
        """Drops the connection; QEMU goes on."""
        self._file.close()
        self._socket.close()
