// SPDX-License-Identifier: MIT
// What happens to imports when the program goes on with its memory: unmaps it, forks, uses its
// stack, runs into the limit of locked memory, or ends.
#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include <drm/vze_drm.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"
#include "free_policy.h"
#include "physical.h"

using namespace vze::test;

namespace {

class SysmemLifetime : public GpuTest {};

TEST_F(SysmemLifetime, MemoryUnmappedBeforeTheFree) {
    constexpr size_t kSize = 64 * kMiB;
    const uint64_t pinned = pinnedBytes();
    Mapping memory = Mapping::anonymous(kSize);
    uint8_t* start = memory.bytes();
    std::memset(start, 0x41, kSize);
    void* old = nullptr;
    ASSERT_OK(importMemory(context_, start, kSize, &old));
    Buffer host = Buffer::host(context_, kPage);

    // Half of it is gone for the CPU; the device keeps the pages that were imported.
    ASSERT_EQ(0, munmap(start + kSize / 2, kSize / 2));
    EXPECT_OK(list().copy(host.get(), start + kSize - kPage, kPage));
    EXPECT_EQ(-1, firstDifferent(host.get(), kPage, 0x41));
    EXPECT_OK(list().fill(start, 0x42, kPage));
    EXPECT_EQ(-1, firstDifferent(start, kPage, 0x42));

    // All of it gone, other memory at the same address: the old import still means the old pages.
    ASSERT_EQ(0, munmap(start, kSize / 2));
    memory.release();
    void* fresh = mmap(start, kSize, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    ASSERT_EQ(start, fresh);
    Mapping freshMemory(fresh, kSize);
    std::memset(start, 0x55, kSize);
    EXPECT_OK(list().copy(host.get(), start, kPage));
    EXPECT_EQ(-1, firstDifferent(host.get(), kPage, 0x42));

    // Imported again the device sees the new pages.
    void* renewed = nullptr;
    ASSERT_OK(importMemory(context_, start, kSize, &renewed));
    EXPECT_OK(list().copy(host.get(), start + kSize - kPage, kPage));
    EXPECT_EQ(-1, firstDifferent(host.get(), kPage, 0x55));
    EXPECT_OK(list().fill(start + kPage, 0x56, 3));
    EXPECT_EQ(-1, firstDifferent(start + kPage, 3, 0x56));
    EXPECT_OK(zeMemFree(context_, renewed));
    EXPECT_OK(zeMemFree(context_, old));
    EXPECT_EQ(pinned, pinnedBytes());
    EXPECT_EQ(0x55, start[kSize - 1]);
}

/* What the driver reserves while such an import is there, or a deferred free of it, is not where it
 * is: the device has one meaning for an address, and the import's end would be that of both. */
TEST_F(SysmemLifetime, ReservationsKeepClearOfUnmappedImports) {
    constexpr size_t kSize = 16 * kPage;
    for (const uint32_t policy : {kNow, kDefer}) {
        SCOPED_TRACE(policy);
        Mapping memory = Mapping::anonymous(3 * kSize);
        uint8_t* start = memory.bytes() + kSize;
        std::memset(start, 0x41, kSize);
        Buffer import = Buffer::import(context_, start, kSize);
        Parked parked(context_, device_, import.get(), kSize);
        if (policy == kDefer) {
            EXPECT_OK(freeExt(context_, import.release(), kDefer));
        }
        ASSERT_EQ(0, munmap(memory.release(), 3 * kSize));

        PhysicalMemory object(context_, device_, kSize);
        // Right there, over its start and its end, and where the kernel likes it best.
        for (uint8_t* hint :
             {start, start - kPage, start + kSize - kPage, static_cast<uint8_t*>(nullptr)}) {
            void* at = nullptr;
            ASSERT_OK(zeVirtualMemReserve(context_, hint, kSize, &at));
            auto* bytes = static_cast<uint8_t*>(at);
            EXPECT_TRUE(bytes + kSize <= start || start + kSize <= bytes) << at;
            // Does not wait for the work on the import, which has not begun.
            EXPECT_OK(zeVirtualMemMap(context_, at, kSize, object.get(), 0,
                                      ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
            EXPECT_FALSE(parked.done());
            EXPECT_OK(list().fill(at, 0x43, kSize));
            EXPECT_OK(zeVirtualMemFree(context_, at, kSize));
        }
        parked.go();
        EXPECT_OK(parked.list().wait());
        import.reset();
        // Then the place is free: looking for room takes back what a deferred free has left.
        EXPECT_TRUE(eventually([&] {
            Buffer::device(context_, device_, kPage).reset();
            void* at = nullptr;
            EXPECT_OK(zeVirtualMemReserve(context_, start, kSize, &at));
            EXPECT_OK(zeVirtualMemFree(context_, at, kSize));
            return at == start;
        }));
    }
}

int recurse(int depth) {
    volatile uint8_t frame[3000];
    for (size_t i = 0; i < sizeof frame; i++)
        frame[i] = static_cast<uint8_t>(depth);
    const int below = depth ? recurse(depth - 1) : 0;
    for (size_t i = 0; i < sizeof frame; i++) {
        if (frame[i] != static_cast<uint8_t>(depth))
            return -1;
    }
    return below < 0 ? below : below + 1;
}

volatile sig_atomic_t signalsSeen;

void onSignal(int) {
    volatile uint8_t frame[2000];
    frame[0] = 1;
    frame[1999] = 1;
    signalsSeen = signalsSeen + frame[0];
}

TEST_F(SysmemLifetime, StackPageInUse) {
    alignas(4096) volatile uint8_t onStack[kPage];
    for (size_t i = 0; i < kPage; i++)
        onStack[i] = static_cast<uint8_t>(i);
    // The page behind it holds live variables and return addresses of the callers.
    auto* page = const_cast<uint8_t*>(onStack);
    struct sigaction action {
    }, before{};
    action.sa_handler = onSignal;
    ASSERT_EQ(0, sigaction(SIGUSR1, &action, &before));
    {
        Buffer import = Buffer::import(context_, page, 2 * kPage);
        for (uint8_t round = 1; round <= 20; round++) {
            EXPECT_OK(list().fillAsync(page + 1024, round, 1024));
            EXPECT_EQ(201, recurse(200));
            raise(SIGUSR1);
            EXPECT_OK(list().wait());
            for (size_t i = 0; i < 1024; i++) {
                ASSERT_EQ(static_cast<uint8_t>(i), onStack[i]);
                ASSERT_EQ(round, onStack[1024 + i]);
            }
        }
    }
    EXPECT_EQ(20, signalsSeen);
    sigaction(SIGUSR1, &before, nullptr);
    EXPECT_EQ(201, recurse(200));
}

TEST_F(SysmemLifetime, ForkLeavesThePagesToTheParent) {
    Mapping memory = Mapping::anonymous(4 * kPage);
    std::memset(memory.get(), 1, memory.size());
    Buffer import = Buffer::import(context_, memory.get(), memory.size());
    int toChild[2], toParent[2];
    ASSERT_EQ(0, pipe2(toChild, O_CLOEXEC));
    ASSERT_EQ(0, pipe2(toParent, O_CLOEXEC));
    const pid_t pid = fork();
    if (pid == 0) {
        char go;
        // The child writes its own copy, and still sees the bytes of the time of the fork.
        if (read(toChild[0], &go, 1) != 1)
            _exit(1);
        const bool own = memory.bytes()[kPage] == 1;
        std::memset(memory.get(), 9, memory.size());
        _exit(own && write(toParent[1], "x", 1) == 1 ? 0 : 2);
    }
    ASSERT_GT(pid, 0);
    // Parent and device keep sharing the page, in both directions.
    memory.bytes()[3] = 7;
    EXPECT_EQ(7, readBack(memory.bytes() + 3, 1)[0]);
    EXPECT_OK(list().fill(memory.get(), 2, memory.size()));
    EXPECT_EQ(-1, firstDifferent(memory.get(), memory.size(), 2));
    EXPECT_EQ(1, write(toChild[1], "g", 1));
    char done;
    EXPECT_EQ(1, read(toParent[0], &done, 1));
    int status = -1;
    EXPECT_EQ(pid, waitpid(pid, &status, 0));
    EXPECT_EQ(0, status);
    EXPECT_EQ(-1, firstDifferent(memory.get(), memory.size(), 2));
    std::vector<uint8_t> seen = readBack(memory.get(), memory.size());
    EXPECT_EQ(-1, firstDifferent(seen.data(), seen.size(), 2));
    for (int fd : {toChild[0], toChild[1], toParent[0], toParent[1]})
        close(fd);
}

/* The driver's own file, found among this process's descriptors. */
int renderNode() {
    for (int fd = 3; fd < 1024; fd++) {
        char link[64], target[256];
        std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t length = readlink(link, target, sizeof target - 1);
        if (length <= 0)
            continue;
        target[length] = 0;
        if (std::strncmp(target, "/dev/dri/renderD", 16) == 0)
            return fd;
    }
    return -1;
}

TEST_F(SysmemLifetime, MmapOfTheImportedObjectIsRefused) {
    Mapping memory = Mapping::anonymous(4 * kPage);
    std::memset(memory.get(), 1, memory.size());
    Buffer import = Buffer::import(context_, memory.get(), memory.size());
    const int node = renderNode();
    ASSERT_GE(node, 0) << "the driver has no render node open";
    bool found = false;
    for (uint32_t handle = 1; handle < 4096 && !found; handle++) {
        drm_vze_gem_info info{};
        info.handle = handle;
        if (ioctl(node, DRM_IOCTL_VZE_GEM_INFO, &info) != 0 ||
            info.placement != DRM_VZE_PLACEMENT_USERPTR ||
            info.user_addr != reinterpret_cast<uintptr_t>(memory.get()))
            continue;
        found = true;
        drm_vze_gem_mmap_offset offset{};
        offset.handle = handle;
        EXPECT_EQ(-1, ioctl(node, DRM_IOCTL_VZE_GEM_MMAP_OFFSET, &offset));
        EXPECT_EQ(EOPNOTSUPP, errno);
    }
    EXPECT_TRUE(found) << "no userptr object has the address of the import";
}

bool dropTo(uid_t user, bool keepLockCapability) {
    if (keepLockCapability && prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0))
        return false;
    if (setresgid(user, user, user) || setresuid(user, user, user))
        return false;
    if (!keepLockCapability)
        return true;
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct data[2]{};
    data[CAP_IPC_LOCK / 32].effective = 1u << (CAP_IPC_LOCK % 32);
    data[CAP_IPC_LOCK / 32].permitted = data[CAP_IPC_LOCK / 32].effective;
    return syscall(SYS_capset, &header, data) == 0;
}

/* Arguments: "with" or "without" the right to lock memory beyond the limit. */
int underLockLimit(int, const std::vector<std::string>& arguments) {
    const bool capable = arguments.at(0) == "with";
    const rlimit limit{65536, 65536};
    if (setrlimit(RLIMIT_MEMLOCK, &limit) || !dropTo(12345, capable))
        return 1;
    // The driver's log line, which goes to the standard error.
    const int log = memfd_create("log", MFD_CLOEXEC);
    setenv("VZE_LOG", "1", 1);
    if (log < 0 || dup2(log, STDERR_FILENO) < 0)
        return 13;
    if (!initDriver())
        return 2;
    const ze_context_handle_t context = newContext();
    if (!context)
        return 3;
    Mapping memory = Mapping::anonymous(kMiB);
    std::memset(memory.get(), 1, memory.size());
    void* pointer = nullptr;
    const ze_result_t result = importMemory(context, memory.get(), kMiB, &pointer);
    if (capable) {
        if (result != ZE_RESULT_SUCCESS || pinnedBytes() != kMiB)
            return 4;
        if (zeMemFree(context, pointer) != ZE_RESULT_SUCCESS)
            return 5;
    } else {
        if (result != ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY || pinnedBytes() != 0)
            return 6;
        char line[512] = {};
        if (pread(log, line, sizeof line - 1, 0) <= 0 || !std::strstr(line, "RLIMIT_MEMLOCK") ||
            !std::strstr(line, "65536") || !std::strstr(line, "zeMemAllocHost"))
            return 12;
        if (!std::strstr(lastError(), "RLIMIT_MEMLOCK")) {
            std::fprintf(stderr, "the reason does not name the limit: %s\n", lastError());
            return 7;
        }
        // Within the limit it works, up to the last page of it, and freeing gives the room back.
        for (int round = 0; round < 3; round++) {
            if (importMemory(context, memory.get(), 65536, &pointer) != ZE_RESULT_SUCCESS ||
                pinnedBytes() != 65536)
                return 8;
            void* more = nullptr;
            if (importMemory(context, memory.bytes() + 65536, kPage, &more) !=
                ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY)
                return 9;
            if (zeMemFree(context, pointer) != ZE_RESULT_SUCCESS || pinnedBytes() != 0)
                return 10;
        }
    }
    return zeContextDestroy(context) == ZE_RESULT_SUCCESS ? 0 : 11;
}

ChildRegistration lockLimitChild("lock_limit", underLockLimit);

TEST_F(SysmemLifetime, LimitOfLockedMemory) {
    Child child("lock_limit", {"without"});
    EXPECT_EQ(0, child.wait());
}

TEST_F(SysmemLifetime, LimitOfLockedMemoryDoesNotBindCapIpcLock) {
    Child child("lock_limit", {"with"});
    EXPECT_EQ(0, child.wait());
}

int importAndWait(int channel, const std::vector<std::string>&) {
    if (!initDriver())
        return 1;
    const ze_context_handle_t context = newContext();
    if (!context)
        return 2;
    Mapping memory = Mapping::anonymous(16 * kMiB);
    std::memset(memory.get(), 1, memory.size());
    void* pointer = nullptr;
    if (importMemory(context, memory.get(), memory.size(), &pointer) != ZE_RESULT_SUCCESS)
        return 3;
    ImmediateList list(context, devices().front());
    if (list.fill(pointer, 3, memory.size()) != ZE_RESULT_SUCCESS)
        return 4;
    sendAll(channel, "r", 1);
    pause();
    return 0;
}

ChildRegistration importAndWaitChild("import_and_wait", importAndWait);

TEST_F(SysmemLifetime, KilledProcessLeavesNothing) {
    // That nothing is left is what the leak check after the test sees.
    Child child("import_and_wait");
    char ready = 0;
    ASSERT_TRUE(child.receive(&ready, 1));
    child.signal(SIGKILL);
    EXPECT_EQ(128 + SIGKILL, child.wait());
}

} // namespace
