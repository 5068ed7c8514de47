# SPDX-License-Identifier: MIT
"""One run of the VM, from empty folder to exit status, with nothing left behind."""

import os
import selectors
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import time
import tty

import children
import leftovers
import machine
from hotplug import Hotplug
import snapshot
from qmp import Qmp
from status import DEVICE_DIED, GUEST_PANIC, QEMU_DIED, SETUP, TIMEOUT, VmFailure

# Where the guest's memory is, if there is room.
RAM_FOLDER = "/dev/shm"
# A start that takes longer than this, in seconds, is mentioned.
PATIENCE = 10
# The guest ends the program itself at the time limit, which keeps the kernel log; QEMU is ended this much later.
GRACE = 60


def say(message):
    """One line for the person who waits."""
    print("vm: " + message, file=sys.stderr, flush=True)


class EndedBeforeInit(Exception):
    """QEMU ended with 0 before the guest's script began: seen once in about 60 boots, worth one retry."""


class Session:
    """Use as a context manager: leaving it ends every process and removes every file."""

    def __init__(self, options, environment):
        self.options = options
        self.top = environment["VZE_TOP"]
        self.cache = environment["VZE_CACHE_DIR"]
        self.root = os.path.abspath(options.root) if options.root else environment["VZE_VM_ROOT"]
        self.kernel_tree = environment["VZE_VM_KERNEL_TREE"]
        self.release = environment["VZE_VM_RELEASE"]
        self.helpers = []
        self.gpus = []
        self.hotplug = None
        self.qemu = None
        self.channels = {}
        self.console = b""
        self.control = b""

    def __enter__(self):
        leftovers.remove([RAM_FOLDER, self.cache])
        self.directory = tempfile.mkdtemp(prefix=leftovers.PREFIX)
        self.claim = leftovers.claim(self.directory)
        self.run = os.path.join(self.directory, "files", "run")
        os.makedirs(self.run)
        self.ram_file = os.path.join(self._ram_folder(), os.path.basename(self.directory) + ".ram")
        return self

    def __exit__(self, *_):
        # A second Ctrl-C must not stop the clearing away.
        handlers = {number: signal.signal(number, signal.SIG_IGN)
                    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
        for child in [self.qemu] + self.gpus + self.helpers:
            if child:
                child.end()
        for endpoint in self.channels.values():
            endpoint.close()
        for path in (self.ram_file, self.ram_file + ".state"):
            if os.path.exists(path):
                os.unlink(path)
        shutil.rmtree(self.directory, ignore_errors=True)
        os.close(self.claim)
        for number, handler in handlers.items():
            signal.signal(number, handler)

    def _ram_folder(self):
        for folder in (RAM_FOLDER, self.cache):
            free = os.statvfs(folder)
            if free.f_bavail * free.f_frsize >= self.options.mem + (64 << 20):
                return folder
        raise VmFailure(SETUP, "neither /dev/shm nor %s has room for the guest's memory (%d MiB; --mem changes it)"
                        % (self.cache, self.options.mem >> 20))

    def log(self, name):
        """The log file of a child."""
        return os.path.join(self.directory, name + ".log")

    def build_machine(self):
        """The machine that this run's options ask for."""
        initramfs = os.path.join(self.directory, "initramfs")
        machine.make_initramfs(initramfs, self.root, self.kernel_tree, self.release,
                               os.path.join(self.top, "scripts/lib/vm/guest-init"))
        window = max(machine.SNAPSHOT_BAR, machine.bar_size(self.options.vram))
        return machine.Machine(os.path.join(self.kernel_tree, "boot/vmlinux"), initramfs, self.options.mem,
                               self.options.cpus, window, self.options.icount, self.options.iommu,
                               self.options.append)

    def write_request(self, restored):
        """What guest-run reads: the program, its environment, and what to prepare."""
        options = self.options
        size = shutil.get_terminal_size((80, 24))
        config = {
            "VZE_KERNEL": options.kernel, "VZE_GPUS": options.gpus,
            "VZE_SLOTS": options.gpus + len(options.ivshmem), "VZE_LOAD": options.load,
            "VZE_MODULE": options.module or "/vze/build/%s/module/vze.ko" % options.kernel,
            "VZE_DEPENDS": " ".join(machine.module_depends(
                os.path.join(self.top, "build", options.kernel, "module/vze.ko"))),
            "VZE_MODULE_PARAMETERS": " ".join(options.param), "VZE_TIMEOUT": options.timeout,
            "VZE_INTERACTIVE": int(options.interactive), "VZE_RESTORED": int(restored), "VZE_ROWS": size.lines,
            "VZE_COLUMNS": size.columns, "VZE_TERM": os.environ.get("TERM", "dumb"),
            "VZE_DIRECTORY": options.directory or ("/mnt/share" if options.share else "/vze"),
        }
        with open(os.path.join(self.run, "config"), "w", encoding="utf-8") as out:
            for key, value in config.items():
                out.write("%s=%s\n" % (key, shlex.quote(str(value))))
        with open(os.path.join(self.run, "environment"), "w", encoding="utf-8") as out:
            for assignment in options.env:
                key, _, value = assignment.partition("=")
                out.write("%s=%s\n" % (key, shlex.quote(value)))
        with open(os.path.join(self.run, "command"), "wb") as out:
            out.write(os.fsencode(shlex.join(options.command)))
        with open(os.path.join(self.run, "seed"), "wb") as out:
            out.write(os.urandom(512))

    def start_gpu(self, index, life):
        """A process for the virtual GPU `index`; returns (child, Plug)."""
        program = os.environ.get("VZE_VGPU", os.path.join(self.top, "build/user/tests/vgpu/vze-vgpu"))
        if not os.path.exists(program):
            raise VmFailure(SETUP, "there is no %s (scripts/build user makes it; --gpus 0 does without)" % program)
        options = ["--ram-file", self.ram_file, "--ram-size", str(self.options.mem), "--vram", str(self.options.vram)]
        if not self.options.no_strict:
            options.append("--strict")
        options += [option for number, option in self.options.gpu_option if number == index]
        child, path = children.start_gpu(program, index, life, self.directory, options)
        return child, machine.Plug(machine.gpu_device(index, children.gpu_chardev(index, life)), socket=path)

    def start_helpers(self):
        """The two virtiofs daemons and the virtual GPUs; returns the list of what to plug in."""
        files = os.path.dirname(self.run)
        binds = [(self.top, "vze")]
        if self.kernel_tree != os.environ["VZE_VM_ROOT"]:
            binds.append((os.path.join(self.kernel_tree, "usr/lib/modules"), "modules"))
        if self.options.share:
            binds.append((os.path.abspath(self.options.share), "share"))
        for _, name in binds:
            os.mkdir(os.path.join(files, name))
        plugs = []
        for index, (tag, source, cache, mounts) in enumerate(
                (("rootfs", self.root, "always", ()), ("files", files, "auto", binds))):
            path = os.path.join(self.directory, tag + ".sock")
            self.helpers.append(children.start_virtiofsd("virtiofsd for " + tag, path, source, cache,
                                                         self.log("virtiofsd-" + tag), mounts))
            plugs.append(machine.Plug(machine.virtiofs_device(index, tag), socket=path))
        for index in range(self.options.gpus):
            child, plug = self.start_gpu(index, 1)
            self.gpus.append(child)
            plugs.append(plug)
        for number, memory in enumerate(self.options.ivshmem):
            plugs.append(machine.Plug(machine.plain_device(self.options.gpus + number, number), memory=memory))
        for child, plug in zip(self.helpers, plugs):
            children.wait_for_socket(child, plug.socket)
        for child in self.gpus:
            children.wait_ready(child)
        # The file systems come last: the guest goes on as soon as they are there.
        return plugs[2:] + plugs[:2]

    def start_qemu(self, argv):
        """Starts QEMU with its character devices connected to this process."""
        listeners = {}
        for name in ("console", "tty", "out", "err", "ctl"):
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(os.path.join(self.directory, name + ".sock"))
            listener.listen(1)
            listener.settimeout(60)
            listeners[name] = listener
        self.qemu = children.Child("QEMU", argv, self.log("qemu"))
        for name, listener in listeners.items():
            listener.settimeout(0.2)
            limit = time.monotonic() + 60
            while name not in self.channels:
                try:
                    self.channels[name] = listener.accept()[0]
                except socket.timeout:
                    if self.qemu.dead() or time.monotonic() > limit:
                        raise VmFailure(SETUP, "QEMU did not start:\n" + self.qemu.log_tail()) from None
            listener.close()

    def boot(self):
        """Starts the VM, from a snapshot if one fits."""
        hardware = self.build_machine()
        fits = self.options.vram < machine.SNAPSHOT_BAR and not (
            self.options.icount or self.options.cold or self.options.iommu or self.options.append)
        saved = snapshot.find_or_make(hardware, self.cache, self.top, self.options) if fits else None
        if saved:
            snapshot.copy_ram(saved, self.ram_file)
        self.write_request(restored=bool(saved))
        plugs = self.start_helpers()
        argv = hardware.arguments(self.ram_file, self.directory)
        if not saved:
            for plug in plugs:
                argv += plug.cold()
            self.start_qemu(argv)
            return
        self.start_qemu(argv + ["-incoming", "defer"])
        qmp = Qmp(os.path.join(self.directory, "qmp.sock"), self.qemu)
        snapshot.restore(qmp, saved)
        for plug in plugs:
            plug.connect(qmp)
            plug.plug(qmp)
        qmp.close()

    def watch(self):
        """Passes output on until QEMU ends; raises VmFailure for whatever is not an orderly end."""
        start = time.monotonic()
        start_limit = start + machine.START_LIMIT
        mention = start + PATIENCE
        limit = None  # known once the program runs
        selector = selectors.DefaultSelector()
        for name, endpoint in self.channels.items():
            endpoint.setblocking(True)
            selector.register(endpoint, selectors.EVENT_READ, name)
        typing = False
        device_deaths = []
        reported = set()
        self.hotplug = Hotplug(self)
        while True:
            for key, _ in selector.select(0.2):
                try:
                    data = os.read(key.fd, 65536)
                except ConnectionResetError:
                    data = b""  # QEMU died with something unread
                if key.data == "keyboard":
                    if b"\x1d" in data:
                        raise VmFailure(SETUP, "the VM was ended by Ctrl-]")
                    if data:
                        self.channels["tty"].sendall(data)
                    else:
                        self.channels["tty"].sendall(b"\x04")
                        selector.unregister(key.fd)
                elif data:
                    self._take(key.data, data)
                else:
                    selector.unregister(key.fileobj)
            if self.options.interactive and not typing and b"shell\n" in self.control:
                typing = True
                selector.register(sys.stdin.fileno(), selectors.EVENT_READ, "keyboard")
            if self.qemu.dead() and not any(key.data != "keyboard" for key in selector.get_map().values()):
                break
            self.hotplug.look()
            for child in self.gpus + self.helpers:
                if child.dead() and child not in reported and not self.qemu.dead():
                    reported.add(child)
                    if not self._still_running():
                        continue
                    # Without a file system the guest can only hang; the loss of a GPU is for its driver to notice.
                    if child in self.helpers:
                        raise VmFailure(DEVICE_DIED, child.end_text())
                    say(child.end_text())
                    device_deaths.append(child)
            now = time.monotonic()
            if limit and now > limit:
                raise VmFailure(TIMEOUT, "the guest hangs: no end %d s after the time limit\n%s"
                                % (GRACE, self._console_tail()))
            if start_limit and os.path.exists(os.path.join(self.run, "running")):
                start_limit = None
                limit = None if self.options.interactive else now + self.options.timeout + GRACE
            if start_limit and mention and now > mention:
                mention = None
                say("the guest is still starting; it has %d s" % machine.START_LIMIT)
            if start_limit and now > start_limit:
                raise VmFailure(SETUP, "the guest did not come up in %d s\n%s"
                                % (machine.START_LIMIT, self._console_tail()))
        self._judge(device_deaths)

    def _still_running(self):
        """Whether QEMU outlives the child by more than the moment in which it ends itself."""
        try:
            self.qemu.process.wait(1.0)
            return False
        except subprocess.TimeoutExpired:
            return True

    def _take(self, name, data):
        if name == "console":
            self.console = (self.console + data)[-(1 << 20):]
            if self.options.console:
                sys.stderr.buffer.write(data)
                sys.stderr.flush()
        elif name == "ctl":
            self.control += data
            self.hotplug.take(data)
        elif name == "err":
            sys.stderr.buffer.write(data)
            sys.stderr.flush()
        else:
            sys.stdout.buffer.write(data)
            sys.stdout.flush()

    def _console_tail(self):
        return "\n".join(self.console.decode("utf-8", "replace").replace("\r", "").splitlines()[-60:])

    def _file(self, name):
        try:
            with open(os.path.join(self.run, name), encoding="utf-8", errors="replace") as file:
                return file.read()
        except FileNotFoundError:
            return None

    def _judge(self, device_deaths):
        code = self.qemu.process.returncode
        # 1 is the guest's own word (isa-debug-exit); a panic or reset under -no-reboot gives 0.
        if code != 1:
            if "Kernel panic" in self._console_tail() or "Kernel panic" in self.console.decode("utf-8", "replace"):
                raise VmFailure(GUEST_PANIC, "the guest's kernel panicked:\n" + self._console_tail())
            if code == 0 and self._file("started") is None:
                raise EndedBeforeInit()
            if code == 0:
                raise VmFailure(GUEST_PANIC, "the guest ended without a word (reset?):\n" + self._console_tail())
            raise VmFailure(QEMU_DIED, self.qemu.end_text())
        failed = self._file("failed")
        if failed is not None:
            raise VmFailure(SETUP, failed.rstrip())
        if self._file("status") is None:
            raise VmFailure(QEMU_DIED, "QEMU ended with 1, but the guest left no status:\n" + self.qemu.log_tail())
        if device_deaths:
            raise VmFailure(DEVICE_DIED, "%s died while the program ran (its status would have been %s)"
                            % (device_deaths[0].name, self._file("status").strip()))

    def program_status(self):
        """The program's exit status, told by the guest."""
        status = int(self._file("status"))
        if status == 124 and not self.options.interactive:
            say("the program did not end in %s s" % self.options.timeout)
        return status

    def keep_logs(self):
        """Copies what the caller asked to keep: kernel log, device logs and counters."""
        if self.options.dmesg:
            text = self._file("dmesg")
            with open(self.options.dmesg, "w", encoding="utf-8") as out:
                out.write(self.console.decode("utf-8", "replace").replace("\r", "") if text is None else text)
        if self.options.keep_logs:
            os.makedirs(self.options.keep_logs, exist_ok=True)
            for name in os.listdir(self.directory):
                if name.endswith((".log", ".counters")):
                    shutil.copy(os.path.join(self.directory, name), self.options.keep_logs)


def run(options, environment):
    """Runs options.command in a new VM and returns its exit status."""
    saved = None
    if options.interactive and sys.stdin.isatty():
        saved = termios.tcgetattr(sys.stdin)
        say("the shell's exit ends the VM; Ctrl-] ends it at once")
    try:
        for attempt in (1, 2):
            with Session(options, environment) as session:
                try:
                    session.boot()
                    if saved:
                        tty.setraw(sys.stdin)
                    session.watch()
                    # The devices end when QEMU is gone, and write their counters then.
                    for child in session.gpus:
                        if not child.dead():
                            try:
                                child.process.wait(5)
                            except subprocess.TimeoutExpired:
                                pass
                    return session.program_status()
                except EndedBeforeInit:
                    if attempt == 2:
                        raise VmFailure(QEMU_DIED, "QEMU ended with 0 before the guest's first program, twice") from None
                    say("QEMU ended with 0 before the guest's first program; trying once more")
                finally:
                    session.keep_logs()
    finally:
        if saved:
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, saved)
    return SETUP
