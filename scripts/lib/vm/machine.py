# SPDX-License-Identifier: MIT
"""What QEMU is told: the machine, its ports, its devices, and the initramfs that it boots."""

import hashlib
import os
import subprocess

from status import SETUP, VmFailure

QEMU = "qemu-system-x86_64"
MAX_GPUS = 5
# Seconds until the guest's first program: a machine with much else to do takes minutes for what takes seconds.
START_LIMIT = 600
# Hotplug ports exist before anything is plugged in. A port's window for 64-bit BARs is fixed at boot: it must hold
# the largest BAR2 that a restored snapshot may get. Larger GPUs boot cold with a larger window.
SNAPSHOT_BAR = 1 << 30
# Number of ivshmem vectors; VZE_HW_VECTORS in uapi/drm/vze_hw.h.
VECTORS = 4


def round_up_to_power_of_two(value):
    """The smallest power of two that is not below value."""
    return 1 << (value - 1).bit_length()


def bar_size(vram):
    """Room for BAR2: VRAM and what lies before it, as a power of two."""
    return round_up_to_power_of_two(vram + 1)


def accelerator():
    """"kvm" where it really works, else "tcg". Without the processor's virtualisation flag /dev/kvm may open and
    the guest still hang before its first line."""
    wish = os.environ.get("VZE_ACCEL", "")
    if wish in ("kvm", "tcg"):
        return wish
    if wish:
        raise VmFailure(SETUP, "VZE_ACCEL is '%s'; it can be kvm or tcg" % wish)
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as info:
        flags = next((line for line in info if line.startswith("flags")), "").split()
    if os.access("/dev/kvm", os.R_OK | os.W_OK) and ("vmx" in flags or "svm" in flags):
        return "kvm"
    return "tcg"


# With erms or fsrm the kernel copies by "rep movsb", which TCG runs byte by byte. With cx16 SLUB allocates by
# cmpxchg16b, after which QEMU 7.2 now and then has a pointer's bits in the flags register: the next interrupt
# returns with NT or VM set and the guest dies of a double fault.
TCG_CPU = "max,erms=off,fsrm=off,cx16=off"


class Machine:
    """The fixed part of a VM: all that must be equal between a snapshot's making and its restoring."""

    def __init__(self, kernel, initramfs, memory, cpus, window, icount, iommu, append):
        self.kernel = kernel
        self.initramfs = initramfs
        self.memory = memory
        self.cpus = cpus
        self.window = window
        self.icount = icount
        self.iommu = iommu
        self.append = append
        self.accel = accelerator()

    def _accelerator_arguments(self):
        if self.icount:
            return ["-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off", "-cpu", TCG_CPU]
        if self.accel == "kvm":
            return ["-accel", "kvm", "-cpu", "host"]
        return ["-accel", "tcg,thread=multi", "-cpu", TCG_CPU]

    def arguments(self, ram_file, directory):
        """The command line without hotplugged devices. Sockets are in `directory`."""
        def socket(name):
            return "socket,id=%s,path=%s" % (name, os.path.join(directory, name + ".sock"))
        # An IOMMU stands before the devices whose addresses it translates.
        ports = ["-device", "intel-iommu,intremap=off"] if self.iommu else []
        for index in range(2 + MAX_GPUS):
            port = "pcie-root-port,id=%s,chassis=%d,slot=%d" % (port_name(index), index + 1, index + 1)
            if index >= 2:
                port += ",pref64-reserve=%d" % self.window
            ports += ["-device", port]
        return [QEMU, "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
                "-machine", "q35,memory-backend=mem", "-object",
                "memory-backend-file,id=mem,size=%d,mem-path=%s,share=on" % (self.memory, ram_file),
                "-m", "%dM" % (self.memory >> 20), "-smp", str(self.cpus)] + self._accelerator_arguments() + [
                    "-kernel", self.kernel, "-initrd", self.initramfs, "-append",
                    " ".join(["console=ttyS0 panic=-1 oops=panic loglevel=5 log_buf_len=4M no_timer_check"
                              " rdinit=/init"] + self.append),
                    "-chardev", socket("console"), "-serial", "chardev:console",
                    "-chardev", socket("tty"), "-serial", "chardev:tty",
                    "-device", "virtio-serial-pci",
                    "-chardev", socket("out"), "-device", "virtserialport,chardev=out,name=out",
                    "-chardev", socket("err"), "-device", "virtserialport,chardev=err,name=err",
                    "-chardev", socket("ctl"), "-device", "virtserialport,chardev=ctl,name=ctl",
                    "-device", "isa-debug-exit,iobase=0xf4,iosize=4",
                    "-qmp", "unix:%s,server=on,wait=off" % os.path.join(directory, "qmp.sock")] + ports

    def recipe(self):
        """What a snapshot depends on, as text."""
        version = subprocess.run([QEMU, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
        with open(self.initramfs, "rb") as initramfs:
            content = initramfs.read()
        return "\n".join([version, self.kernel, hashlib.sha256(content).hexdigest()] +
                         [part for part in self.arguments("RAM", "DIR") if part != self.initramfs])


def port_name(index):
    """Port 0 is for the root file system, 1 for the files, the rest for GPUs."""
    return "port%d" % index


def virtiofs_device(index, tag):
    """Properties of a virtiofs device for the port `index`."""
    return {"driver": "vhost-user-fs-pci", "id": "fs-" + tag, "chardev": "fs-" + tag, "tag": tag,
            "bus": port_name(index)}


def gpu_device(index, chardev):
    """Properties of the slot of the virtual GPU `index`, whose process is behind `chardev`."""
    return {"driver": "ivshmem-doorbell", "id": "gpu%d" % index, "chardev": chardev, "vectors": VECTORS,
            "bus": port_name(2 + index)}


def plain_device(index, number):
    """Properties of plain shared memory, the `number`th, in the slot of the virtual GPU `index`."""
    return {"driver": "ivshmem-plain", "id": "plain%d" % number, "memdev": "plain%d-memory" % number,
            "bus": port_name(2 + index)}


class Plug:
    """A device with what is behind it: the socket of a process, or memory of some size."""

    def __init__(self, device, socket=None, memory=0):
        self.device = device
        self.socket = socket
        self.memory = memory

    def cold(self):
        """Command line arguments that plug it in before the machine starts."""
        properties = ",".join([self.device["driver"]] +
                              ["%s=%s" % item for item in self.device.items() if item[0] != "driver"])
        if self.socket:
            behind = ["-chardev", "socket,id=%s,path=%s" % (self.device["chardev"], self.socket)]
        else:
            behind = ["-object", "memory-backend-ram,id=%s,size=%d,share=on" % (self.device["memdev"], self.memory)]
        return behind + ["-device", properties]

    def connect(self, qmp):
        """Gives a running machine what is behind the device."""
        if self.socket:
            qmp.command("chardev-add", id=self.device["chardev"], backend={
                "type": "socket", "data": {"server": False, "addr": {"type": "unix", "data": {"path": self.socket}}}})
        else:
            qmp.command("object-add", qom_type="memory-backend-ram", id=self.device["memdev"], size=self.memory,
                        share=True)

    def plug(self, qmp):
        """Puts the device into its slot, after connect()."""
        qmp.command("device_add", **self.device)


def _cpio_entry(name, mode, data=b"", rdev=(0, 0)):
    header = b"070701" + b"".join(b"%08x" % field for field in (
        0, mode, 0, 0, 1, 0, len(data), 0, 0, rdev[0], rdev[1], len(name) + 1, 0))
    entry = header + name.encode() + b"\0"
    entry += b"\0" * (-len(entry) % 4) + data
    return entry + b"\0" * (-len(data) % 4)


# Modules that every run needs, loaded before a snapshot is taken. drm_gpuvm uses drm_exec without saying so.
PRELOADED = ("overlay", "drm_exec", "drm_gpuvm", "gpu-sched", "drm_shmem_helper", "drm_buddy", "gpu_buddy")


def _modules_in_order(kernel_tree, release):
    """Paths of PRELOADED and what they depend on, in the order of loading; without what the kernel does not have."""
    folder = os.path.join(kernel_tree, "usr/lib/modules", release)
    depends = {}
    with open(os.path.join(folder, "modules.dep"), encoding="utf-8") as lines:
        for line in lines:
            path, _, needs = line.partition(":")
            depends[path] = needs.split()
    by_name = {os.path.basename(path).split(".")[0].replace("-", "_"): path for path in depends}
    order = []
    for name in PRELOADED:
        path = by_name.get(name.replace("-", "_"))
        # modules.dep lists what must be loaded last first.
        for module in (list(reversed(depends[path])) + [path]) if path else ():
            if module not in order:
                order.append(module)
    return [os.path.join(folder, path) for path in order]


def _module_content(path):
    tool = {".xz": ["xz", "-dc"], ".zst": ["zstd", "-dc"]}.get(os.path.splitext(path)[1])
    if tool:
        return subprocess.run(tool + [path], stdout=subprocess.PIPE, check=True).stdout
    with open(path, "rb") as file:
        return file.read()


def module_depends(path):
    """Names of the modules that the module file at `path` depends on; empty if there is no such file."""
    try:
        with open(path, "rb") as file:
            content = file.read()
    except FileNotFoundError:
        return []
    start = content.find(b"\0depends=")
    if start < 0:
        return []
    start += len(b"\0depends=")
    names = content[start:content.index(b"\0", start)].decode()
    return [name.replace("-", "_") for name in names.split(",") if name]


def make_initramfs(path, root, kernel_tree, release, init):
    """Writes the initramfs: busybox, the modules that every run needs, and `init`."""
    with open(os.path.join(root, "usr/bin/busybox"), "rb") as file:
        busybox = file.read()
    with open(init, "rb") as file:
        script = file.read()
    parts = [_cpio_entry(name, 0o040755) for name in ("bin", "dev", "proc", "sys", "run", "modules")]
    parts += [_cpio_entry("dev/console", 0o020600, rdev=(5, 1)),
              _cpio_entry("bin/busybox", 0o100755, busybox), _cpio_entry("init", 0o100755, script)]
    for number, module in enumerate(_modules_in_order(kernel_tree, release)):
        name = "modules/%02d-%s.ko" % (number, os.path.basename(module).split(".")[0])
        parts.append(_cpio_entry(name, 0o100644, _module_content(module)))
    parts.append(_cpio_entry("TRAILER!!!", 0))
    with open(path, "wb") as out:
        out.write(b"".join(parts))
