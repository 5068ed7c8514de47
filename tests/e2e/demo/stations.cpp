// SPDX-License-Identifier: MIT
#include "stations.h"

#include <cerrno>
#include <chrono>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

#include "failure.h"
#include "gpu.h"
#include "memory.h"
#include "sha256.h"
#include "share.h"
#include "table.h"

namespace vze::demo {

namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

void readFile(const std::string& path, uint8_t* to, size_t size) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        throw Failure(path + ": " + std::strerror(errno));
    size_t done = 0;
    while (done < size) {
        const ssize_t n = read(fd, to + done, size - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            const std::string reason = n ? std::strerror(errno) : "shorter than a moment ago";
            close(fd);
            throw Failure(path + ": " + reason);
        }
        done += static_cast<size_t>(n);
    }
    close(fd);
}

void expectDigest(const char* station, const Sha256::Digest& wanted, const Sha256::Digest& found) {
    if (found != wanted)
        throw Failure(textOf("%s: SHA-256 is %s, must be %s", station, Sha256::hex(found).c_str(),
                             Sha256::hex(wanted).c_str()));
    progress("      SHA-256 of %s: right", station);
}

/** The bytes of device memory as the CPU sees them after a copy to host memory full of other bytes.
 */
Sha256::Digest digestOfDeviceMemory(const Gpu& gpu, CopyQueue& queue, const void* memory,
                                    size_t size) {
    Allocation bounce = Allocation::host(gpu, size);
    std::memset(bounce.get(), 0xa5, size);
    queue.copy(bounce.get(), memory, size);
    const Sha256::Digest digest = Sha256::of(bounce.get(), size);
    bounce.free();
    return digest;
}

/** The device must not be able to write read-only memory, and nobody else may notice the attempt.
 */
void readOnlyStation(const Gpu& gpu, const std::string& path, const Sha256::Digest& wanted,
                     CopyQueue& bystander, Allocation& deviceBuffer, Table& table) {
    FileMapping mapping(path);
    progress("[6/8] read-only mapping of the file at %p", mapping.get());
    ze_result_t result = tryImport(gpu, mapping.get(), mapping.mappedSize(), false);
    if (result != ZE_RESULT_ERROR_INVALID_ARGUMENT)
        throw Failure(textOf("importing read-only memory as writable gave 0x%x, "
                             "must be INVALID_ARGUMENT",
                             static_cast<unsigned>(result)));
    progress("      refused as writable: %s", gpu.lastError().c_str());

    const auto start = Clock::now();
    Allocation import = Allocation::import(gpu, mapping.get(), mapping.mappedSize(), true);
    table.add(gpu, "import of the file, read-only", mapping.mappedSize(), secondsSince(start));
    {
        CopyQueue reader(gpu);
        reader.copy(deviceBuffer.get(), import.get(), mapping.fileSize());
    }
    expectDigest("the mapping, read by the device", wanted,
                 digestOfDeviceMemory(gpu, bystander, deviceBuffer.get(), mapping.fileSize()));

    const uint64_t faultsBefore = gpu.statistics().faults;
    {
        CopyQueue writer(gpu);
        result = writer.tryFill(import.get() + 4096, 0xff, 4096);
        if (result != ZE_RESULT_ERROR_DEVICE_LOST)
            throw Failure(textOf("a device write to the read-only import gave 0x%x, must be "
                                 "DEVICE_LOST for that queue",
                                 static_cast<unsigned>(result)));
        const std::string words = gpu.lastError();
        progress("      device write faulted: %s", words.c_str());
        if (words.find("zeCommandListAppendMemoryFill") == std::string::npos)
            throw Failure("the fault text does not name the call that wrote");
        result = writer.tryCopy(deviceBuffer.get(), import.get(), 64);
        if (result != ZE_RESULT_ERROR_DEVICE_LOST)
            throw Failure("the stopped queue took more work");
    }
    if (gpu.statistics().faults <= faultsBefore)
        throw Failure("the device counted no fault");
    expectDigest("the mapping after the fault", wanted,
                 Sha256::of(mapping.get(), mapping.fileSize()));
    {
        HeapMemory again(HeapMemory::From::Malloc, mapping.fileSize());
        readFile(path, again.get(), mapping.fileSize());
        expectDigest("the file after the fault", wanted,
                     Sha256::of(again.get(), mapping.fileSize()));
    }
    expectDigest("the device buffer, by the queue beside the stopped one", wanted,
                 digestOfDeviceMemory(gpu, bystander, deviceBuffer.get(), mapping.fileSize()));
    CopyQueue fresh(gpu);
    expectDigest("the device buffer, by a new queue", wanted,
                 digestOfDeviceMemory(gpu, fresh, deviceBuffer.get(), mapping.fileSize()));
    import.free();
}

void shareStation(const Gpu& gpu, const Sha256::Digest& wanted, Allocation& deviceBuffer,
                  size_t size, Table& table) {
    progress("[7/8] a second process opens an IPC handle of the device buffer");
    ze_ipc_mem_handle_t handle{};
    gpu.check(zeMemGetIpcHandle(gpu.context(), deviceBuffer.get(), &handle), "zeMemGetIpcHandle");
    const ShareAnswer answer = askSecondProcess(handle, size);
    gpu.check(zeMemPutIpcHandle(gpu.context(), handle), "zeMemPutIpcHandle");
    expectDigest("the device buffer, by the second process", wanted, answer.digest);
    table.add(gpu, "device -> second process", size, answer.seconds);
}

} // namespace

void runStations(const std::string& path) {
    if (!Sha256::selfTest())
        throw Failure("the SHA-256 of this program is wrong");
    const size_t size = FileMapping(path).fileSize();
    if (size < 65536)
        throw Failure(path +
                      ": smaller than 64 KiB, which shows nothing (some tens of MiB are meant)");
    const size_t pinnedBefore = pinnedBytes();

    Gpu gpu;
    progress("vze-demo: %s", gpu.description().c_str());
    const vze_context_statistics_t atStart = gpu.statistics();
    Table table;
    CopyQueue queue(gpu);

    progress("[1/8] reading %s, %.1f MiB, into memory of aligned_alloc", path.c_str(),
             static_cast<double>(size) / (1 << 20));
    HeapMemory source(HeapMemory::From::AlignedAlloc, size);
    readFile(path, source.get(), size);
    const Sha256::Digest wanted = Sha256::of(source.get(), size);
    progress("      SHA-256 %s", Sha256::hex(wanted).c_str());

    progress("[2/8] importing that memory in place");
    auto start = Clock::now();
    Allocation imported = Allocation::import(gpu, source.get(), source.size());
    const double importSeconds = secondsSince(start);
    if (pinnedBytes() != pinnedBefore + source.size())
        throw Failure(
            textOf("%zu bytes are pinned after importing %zu", pinnedBytes(), source.size()));
    table.add(gpu, "import (pinned, mapped)", source.size(), importSeconds);
    expectDigest("the imported memory", wanted, Sha256::of(imported.get(), size));

    progress("[3/8] import -> device memory");
    Allocation deviceBuffer = Allocation::device(gpu, size);
    double seconds = queue.copy(deviceBuffer.get(), imported.get(), size);
    table.add(gpu, "import -> device", size, seconds);
    expectDigest("the device memory", wanted,
                 digestOfDeviceMemory(gpu, queue, deviceBuffer.get(), size));

    StitchedBuffer stitched(gpu, size, 7);
    progress("[4/8] device memory -> %zu physical objects in one reservation at %p",
             stitched.objects(), static_cast<void*>(stitched.get()));
    seconds = queue.copy(stitched.get(), deviceBuffer.get(), size);
    table.add(gpu, "device -> physical objects", size, seconds);
    expectDigest("the physical objects", wanted,
                 digestOfDeviceMemory(gpu, queue, stitched.get(), size));

    progress("[5/8] physical objects -> a second import, of malloc");
    HeapMemory target(HeapMemory::From::Malloc, size);
    Allocation importedTarget = Allocation::import(gpu, target.get(), target.size());
    seconds = queue.copy(importedTarget.get(), stitched.get(), size);
    table.add(gpu, "physical objects -> second import", size, seconds);
    expectDigest("the second import, read by the CPU", wanted, Sha256::of(target.get(), size));

    readOnlyStation(gpu, path, wanted, queue, deviceBuffer, table);
    shareStation(gpu, wanted, deviceBuffer, size, table);

    progress("[8/8] giving everything back");
    importedTarget.free();
    stitched.free();
    deviceBuffer.free();
    imported.free();
    table.add(gpu, "all given back", 0, 0);
    if (pinnedBytes() != pinnedBefore)
        throw Failure(textOf("%zu bytes are still pinned", pinnedBytes() - pinnedBefore));
    expectDigest("the source, at the end", wanted, Sha256::of(source.get(), size));
    table.print();
    const vze_context_statistics_t atEnd = gpu.statistics();
    if (atEnd.stale_uses != 0)
        throw Failure(textOf("the device used %zu stale translations",
                             static_cast<size_t>(atEnd.stale_uses)));
    if (atEnd.tlb_invalidations <= atStart.tlb_invalidations)
        throw Failure("no TLB invalidation was counted, yet mappings were removed");
}

} // namespace vze::demo
