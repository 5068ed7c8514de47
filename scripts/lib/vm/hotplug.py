# SPDX-License-Identifier: MIT
"""Virtual GPUs that leave and come back while the guest runs, as the guest asks for by lines on its port "ctl"."""

import os
import subprocess

import children
import machine
from qmp import Qmp
from status import DEVICE_DIED, VmFailure


class Hotplug:
    """Takes the guest's requests and answers them."""

    def __init__(self, session):
        self._session = session
        self._lives = [1] * len(session.gpus)
        self._processes = list(session.gpus)
        self._leaving = set()
        self._gone = set()
        self._received = b""
        self._connection = None

    def take(self, data):
        """Bytes from the guest."""
        self._received += data
        *lines, self._received = self._received.split(b"\n")
        for line in lines:
            words = line.decode("utf-8", "replace").split()
            if words and words[0] in ("unplug", "pull", "plug"):
                try:
                    self._request(words[0], words[1:])
                except VmFailure as failure:
                    self._answer("error " + str(failure).splitlines()[0])

    def look(self):
        """Called again and again: completes what has been asked for."""
        if not self._leaving:
            return
        try:
            there = {item["name"] for item in self._qmp().command("qom-list", path="/machine/peripheral")}
        except VmFailure:
            # QEMU has ended, which is judged elsewhere.
            self._leaving.clear()
            return
        for index in [index for index in self._leaving if "gpu%d" % index not in there]:
            self._leaving.remove(index)
            self._gone.add(index)
            self._occupy_descriptors()
            self._end_process(index)
            self._answer("gone gpu%d" % index)

    def _request(self, what, names):
        index = next((index for index in range(len(self._lives)) if names == ["gpu%d" % index]), None)
        if index is None:
            self._answer("error %s: there is no such GPU" % " ".join([what] + names))
        elif what == "plug":
            if index not in self._gone:
                self._answer("error plug gpu%d: it is plugged in" % index)
                return
            self._plug(index)
            self._answer("plugged gpu%d" % index)
        elif index in self._leaving or index in self._gone:
            self._answer("error %s gpu%d: it is not plugged in" % (what, index))
        else:
            port = machine.port_name(2 + index)
            if what == "unplug":
                self._qmp().command("device_del", id="gpu%d" % index)
            else:
                bus = self._qmp().command("qom-get", path="/machine/peripheral/%s/%s" % (port, port),
                                          property="acpi-pcihp-bsel")
                self._answer("ready gpu%d %d" % (index, bus))
            self._leaving.add(index)

    def _plug(self, index):
        child, plug = self._session.start_gpu(index, self._lives[index] + 1)
        self._processes[index] = child
        self._lives[index] += 1
        self._session.gpus.append(child)
        children.wait_ready(child)
        plug.connect(self._qmp())
        plug.plug(self._qmp())
        self._gone.remove(index)

    def _end_process(self, index):
        """It ends in order when QEMU closes the connection, and has then written its counters."""
        child = self._processes[index]
        self._session.gpus.remove(child)
        self._qmp().patient_command("chardev-remove", id=children.gpu_chardev(index, self._lives[index]))
        try:
            child.process.wait(30)
        except subprocess.TimeoutExpired:
            child.end()
        if child.process.returncode != 0:
            raise VmFailure(DEVICE_DIED, child.end_text())

    def _occupy_descriptors(self):
        """QEMU 7.2 closes the eventfds of an ivshmem device that leaves, but goes on polling their numbers on behalf
        of the freed device: the next descriptor with such a number that becomes readable crashes it. So the numbers are
        given to eventfds that never become readable: those of both sides' vectors, of BAR2, and some to spare."""
        silent = os.eventfd(0)
        for _ in range(2 * machine.VECTORS + 8):
            self._qmp().command("add-fd", descriptor=silent)
        os.close(silent)

    def _qmp(self):
        # Made before the first device leaves, and kept: it owns the descriptors above.
        if self._connection is None:
            self._connection = Qmp(os.path.join(self._session.directory, "qmp.sock"), self._session.qemu)
        return self._connection

    def _answer(self, text):
        self._session.channels["ctl"].sendall(text.encode() + b"\n")
