// SPDX-License-Identifier: MIT
#include "kmd/device_file.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

#include "core/log.h"
#include "kmd/fork.h"

namespace vze::kmd {

namespace {

// Counts forks between the first ancestor and this process. An open file is valid in the process
// that opened it, which is the one with the same count.
std::atomic<unsigned> forkGeneration{0};
// The count when the last device was opened.
std::atomic<unsigned> openGeneration{0};

void countFork() {
    forkGeneration.fetch_add(1, std::memory_order_relaxed);
}

void watchForks() {
    static const int registered = pthread_atfork(nullptr, nullptr, countFork);
    static_cast<void>(registered);
}

// ioctl(2) that starts again when a signal came in between; every vze call may be repeated, those
// that wait take an absolute timeout.
int retryIoctl(int fd, unsigned long request, void* argument) noexcept {
    int result;
    do {
        result = ioctl(fd, request, argument);
    } while (result == -1 && (errno == EINTR || errno == EAGAIN));
    return result == -1 ? errno : 0;
}

uint64_t toU64(const void* pointer) noexcept {
    return reinterpret_cast<uintptr_t>(pointer);
}

int readVersion(int fd, drm_version& version, std::string& name) {
    char buffer[64] = {};
    version = {};
    version.name = buffer;
    version.name_len = sizeof(buffer) - 1;
    int error = retryIoctl(fd, DRM_IOCTL_VERSION, &version);
    if (error == 0)
        name.assign(buffer, strnlen(buffer, sizeof(buffer)));
    version.name = nullptr;
    return error;
}

// The driver of a render node that cannot be opened, as sysfs names it.
std::string driverOfNode(const std::string& node) {
    std::error_code error;
    const std::filesystem::path link =
        std::filesystem::read_symlink("/sys/class/drm/" + node + "/device/driver", error);
    return link.filename().string();
}

} // namespace

UniqueFd& UniqueFd::operator=(UniqueFd&& other) noexcept {
    if (this != &other) {
        reset();
        m_fd = other.release();
    }
    return *this;
}

int UniqueFd::release() noexcept {
    return std::exchange(m_fd, -1);
}

void UniqueFd::reset() noexcept {
    if (m_fd >= 0)
        close(m_fd);
    m_fd = -1;
}

std::vector<NodeInfo> DeviceFile::enumerate(bool& denied) {
    constexpr int kFirstRenderMinor = 128;
    denied = false;
    std::vector<std::pair<int, NodeInfo>> found;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator("/dev/dri", error)) {
        const std::string name = entry.path().filename().string();
        constexpr const char* kPrefix = "renderD";
        if (name.rfind(kPrefix, 0) != 0)
            continue;
        char* end = nullptr;
        const long minor = strtol(name.c_str() + strlen(kPrefix), &end, 10);
        if (*end != '\0' || minor < kFirstRenderMinor || minor > INT_MAX)
            continue;
        UniqueFd fd(::open(entry.path().c_str(), O_RDWR | O_CLOEXEC));
        if (!fd) {
            const int reason = errno;
            const bool ours = driverOfNode(name) == VZE_DRIVER_NAME;
            log(ours ? LogLevel::Error : LogLevel::Info, "%s: %s", entry.path().c_str(),
                strerror(reason));
            denied = denied || ours;
            continue;
        }
        drm_version version;
        std::string driver;
        if (readVersion(fd.get(), version, driver) == 0 && driver == VZE_DRIVER_NAME)
            found.push_back({static_cast<int>(minor), NodeInfo{entry.path().string()}});
    }
    std::sort(found.begin(), found.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<NodeInfo> nodes;
    for (auto& [minor, node] : found)
        nodes.push_back(std::move(node));
    return nodes;
}

int DeviceFile::open(const NodeInfo& node, std::unique_ptr<DeviceFile>& out) {
    watchForks();
    UniqueFd fd(::open(node.path.c_str(), O_RDWR | O_CLOEXEC));
    if (!fd)
        return errno;
    drm_version version;
    std::string driver;
    if (int error = readVersion(fd.get(), version, driver))
        return error;
    if (driver != VZE_DRIVER_NAME)
        return ENODEV;
    if (version.version_major != VZE_UAPI_VERSION_MAJOR ||
        version.version_minor < VZE_UAPI_VERSION_MINOR) {
        fail(ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE,
             "%s: refused: the kernel module has interface version %d.%d, this driver needs %d.%d",
             node.path.c_str(), version.version_major, version.version_minor,
             VZE_UAPI_VERSION_MAJOR, VZE_UAPI_VERSION_MINOR);
        return EPROTO;
    }
    out.reset(new DeviceFile(std::move(fd), node.path));
    return 0;
}

DeviceFile::DeviceFile(UniqueFd fd, std::string path)
    : m_fd(std::move(fd)), m_path(std::move(path)),
      m_forkGeneration(forkGeneration.load(std::memory_order_relaxed)) {
    openGeneration.store(m_forkGeneration, std::memory_order_relaxed);
}

DeviceFile::~DeviceFile() = default;

bool openedBeforeFork() noexcept {
    return openGeneration.load(std::memory_order_relaxed) !=
           forkGeneration.load(std::memory_order_relaxed);
}

int DeviceFile::call(unsigned long request, void* argument) {
    if (m_forkGeneration != forkGeneration.load(std::memory_order_relaxed))
        return EPERM;
    return retryIoctl(m_fd.get(), request, argument);
}

// The cheapest call that DRM refuses for a device that is gone.
bool DeviceFile::isPresent() {
    drm_version version{};
    return call(DRM_IOCTL_VERSION, &version) == 0;
}

// ---- queries

namespace {

drm_vze_query makeQuery(uint32_t what, void* data, size_t size) noexcept {
    drm_vze_query query{};
    query.query = what;
    query.size = static_cast<uint32_t>(size);
    query.data = toU64(data);
    return query;
}

} // namespace

int DeviceFile::queryDevice(drm_vze_query_device& out) {
    out = {};
    drm_vze_query query = makeQuery(DRM_VZE_QUERY_DEVICE, &out, sizeof(out));
    return call(DRM_IOCTL_VZE_QUERY, &query);
}

int DeviceFile::queryMemory(drm_vze_query_memory& out) {
    out = {};
    drm_vze_query query = makeQuery(DRM_VZE_QUERY_MEMORY, &out, sizeof(out));
    return call(DRM_IOCTL_VZE_QUERY, &query);
}

int DeviceFile::queryClock(drm_vze_query_clock& out) {
    out = {};
    drm_vze_query query = makeQuery(DRM_VZE_QUERY_CLOCK, &out, sizeof(out));
    return call(DRM_IOCTL_VZE_QUERY, &query);
}

int DeviceFile::queryCounters(std::span<uint64_t> counters) {
    std::fill(counters.begin(), counters.end(), uint64_t{0});
    drm_vze_query query = makeQuery(DRM_VZE_QUERY_COUNTERS, counters.data(), counters.size_bytes());
    return call(DRM_IOCTL_VZE_QUERY, &query);
}

// ---- address spaces

int DeviceFile::createVm(uint32_t& id) {
    drm_vze_vm_create args{};
    int error = call(DRM_IOCTL_VZE_VM_CREATE, &args);
    if (error == 0)
        id = args.vm_id;
    return error;
}

int DeviceFile::destroyVm(uint32_t id) {
    drm_vze_vm_destroy args{};
    args.vm_id = id;
    return call(DRM_IOCTL_VZE_VM_DESTROY, &args);
}

int DeviceFile::vmInfo(uint32_t id, drm_vze_vm_info& out) {
    out = {};
    out.vm_id = id;
    return call(DRM_IOCTL_VZE_VM_INFO, &out);
}

int DeviceFile::bind(uint32_t vm, std::span<const drm_vze_bind_op> ops,
                     std::span<const drm_vze_sync> syncs, uint32_t flags) {
    if (ops.size() > DRM_VZE_MAX_BIND_OPS || syncs.size() > DRM_VZE_MAX_SYNCS)
        return EINVAL;
    drm_vze_vm_bind args{};
    args.vm_id = vm;
    args.flags = flags;
    args.num_ops = static_cast<uint32_t>(ops.size());
    args.num_syncs = static_cast<uint32_t>(syncs.size());
    args.ops = toU64(ops.data());
    args.syncs = syncs.empty() ? 0 : toU64(syncs.data());
    return call(DRM_IOCTL_VZE_VM_BIND, &args);
}

int DeviceFile::mmapVm(uint32_t vm, void* address, uint64_t size, bool writable) {
    return mmapFixed(address, size, writable, DRM_VZE_VM_MMAP_OFFSET(vm, toU64(address)));
}

int DeviceFile::mmapFixed(void* address, uint64_t size, bool writable, uint64_t offset) {
    if (m_forkGeneration != forkGeneration.load(std::memory_order_relaxed))
        return EPERM;
    const int protection = writable ? PROT_READ | PROT_WRITE : PROT_READ;
    void* mapped = mmap(address, size, protection, MAP_SHARED | MAP_FIXED, m_fd.get(),
                        static_cast<off_t>(offset));
    return mapped == MAP_FAILED ? errno : 0;
}

// ---- objects

int DeviceFile::createGem(uint64_t size, uint32_t placement, uint32_t flags, uint32_t& handle) {
    drm_vze_gem_create args{};
    args.size = size;
    args.placement = placement;
    args.flags = flags;
    int error = call(DRM_IOCTL_VZE_GEM_CREATE, &args);
    if (error == 0)
        handle = args.handle;
    return error;
}

int DeviceFile::createUserptr(const void* address, uint64_t size, bool readOnly, uint32_t& handle,
                              const DeviceFile* source, uint32_t sourceHandle) {
    drm_vze_gem_userptr args{};
    args.addr = toU64(address);
    args.size = size;
    args.flags = readOnly ? DRM_VZE_USERPTR_READONLY : 0;
    if (source != nullptr) {
        args.flags |= DRM_VZE_USERPTR_FROM;
        args.source_fd = source->fd();
        args.source_handle = sourceHandle;
    }
    int error = call(DRM_IOCTL_VZE_GEM_USERPTR, &args);
    if (error == 0)
        handle = args.handle;
    return error;
}

void DeviceFile::closeGem(uint32_t handle) {
    if (handle == 0)
        return;
    std::unique_lock lock(m_importMutex);
    if (auto it = m_importReferences.find(handle); it != m_importReferences.end()) {
        if (--it->second != 0)
            return;
        m_importReferences.erase(it);
    } else {
        lock.unlock();
    }
    // An imported handle is closed under the lock, so that no import can be given it in between.
    drm_gem_close args{};
    args.handle = handle;
    call(DRM_IOCTL_GEM_CLOSE, &args);
}

void DeviceFile::holdGem(uint32_t handle) {
    std::lock_guard lock(m_importMutex);
    auto [it, created] = m_importReferences.try_emplace(handle, 1);
    it->second++;
}

int DeviceFile::gemInfo(uint32_t handle, drm_vze_gem_info& out) {
    out = {};
    out.handle = handle;
    return call(DRM_IOCTL_VZE_GEM_INFO, &out);
}

int DeviceFile::mmapGem(uint32_t handle, void* address, uint64_t size, bool writable) {
    drm_vze_gem_mmap_offset args{};
    args.handle = handle;
    if (int error = call(DRM_IOCTL_VZE_GEM_MMAP_OFFSET, &args))
        return error;
    return mmapFixed(address, size, writable, args.offset);
}

int DeviceFile::exportDmaBuf(uint32_t handle, UniqueFd& out) {
    drm_prime_handle args{};
    args.handle = handle;
    args.flags = O_CLOEXEC | O_RDWR;
    args.fd = -1;
    // The object may be in the import table later (the same descriptor opened in this process): its
    // creator's reference is then counted too.
    std::lock_guard lock(m_importMutex);
    int error = call(DRM_IOCTL_PRIME_HANDLE_TO_FD, &args);
    if (error != 0)
        return error;
    out = UniqueFd(args.fd);
    m_importReferences.try_emplace(handle, 1);
    return 0;
}

int DeviceFile::importDmaBuf(int fd, uint32_t& handle) {
    drm_prime_handle args{};
    args.fd = fd;
    std::lock_guard lock(m_importMutex);
    int error = call(DRM_IOCTL_PRIME_FD_TO_HANDLE, &args);
    if (error != 0)
        return error;
    m_importReferences[args.handle]++;
    handle = args.handle;
    return 0;
}

// ---- shares

int DeviceFile::createShare(drm_vze_share_create& inOut) {
    return call(DRM_IOCTL_VZE_SHARE_CREATE, &inOut);
}

void openByDescriptor(drm_vze_share_open& args, int fd) noexcept {
    args.flags |= DRM_VZE_SHARE_OPEN_FD;
    args.fd = fd;
    memset(args.token.secret, 0, sizeof(args.token.secret));
}

int DeviceFile::openShare(drm_vze_share_open& inOut) {
    return call(DRM_IOCTL_VZE_SHARE_OPEN, &inOut);
}

int DeviceFile::putShare(uint64_t id) {
    drm_vze_share_put args{};
    args.id = id;
    return call(DRM_IOCTL_VZE_SHARE_PUT, &args);
}

int DeviceFile::shareFd(const drm_vze_share_token& token, UniqueFd& out) {
    drm_vze_share_fd args{};
    args.token = token;
    int error = call(DRM_IOCTL_VZE_SHARE_FD, &args);
    if (error == 0)
        out = UniqueFd(args.fd);
    return error;
}

int DeviceFile::shareFdOfView(uint32_t view, UniqueFd& out) {
    drm_vze_share_fd args{};
    args.flags = DRM_VZE_SHARE_FD_HANDLE;
    args.handle = view;
    int error = call(DRM_IOCTL_VZE_SHARE_FD, &args);
    if (error == 0)
        out = UniqueFd(args.fd);
    return error;
}

int DeviceFile::shareInfo(int fd, drm_vze_share_info& out) {
    out = {};
    out.fd = fd;
    return call(DRM_IOCTL_VZE_SHARE_INFO, &out);
}

int DeviceFile::shareImporters(uint64_t id, std::span<drm_vze_share_importer> importers,
                               uint32_t& num) {
    drm_vze_share_importers args{};
    args.id = id;
    args.importers = importers.empty() ? 0 : toU64(importers.data());
    args.num = static_cast<uint32_t>(importers.size());
    int error = call(DRM_IOCTL_VZE_SHARE_IMPORTERS, &args);
    if (error == 0)
        num = args.num;
    return error;
}

int DeviceFile::revokeShare(uint64_t id, uint32_t flags, drm_vze_share_revoke& out) {
    out = {};
    out.id = id;
    out.flags = flags;
    return call(DRM_IOCTL_VZE_SHARE_REVOKE, &out);
}

// ---- queues

int DeviceFile::createQueue(uint32_t vm, uint32_t priority, uint32_t& id) {
    drm_vze_queue_create args{};
    args.vm_id = vm;
    args.priority = priority;
    int error = call(DRM_IOCTL_VZE_QUEUE_CREATE, &args);
    if (error == 0)
        id = args.queue_id;
    return error;
}

int DeviceFile::destroyQueue(uint32_t id) {
    drm_vze_queue_destroy args{};
    args.queue_id = id;
    return call(DRM_IOCTL_VZE_QUEUE_DESTROY, &args);
}

int DeviceFile::queueState(uint32_t id, drm_vze_queue_state& out) {
    out = {};
    out.queue_id = id;
    return call(DRM_IOCTL_VZE_QUEUE_STATE, &out);
}

int DeviceFile::exec(uint32_t queue, std::span<const drm_vze_batch> batches,
                     std::span<const drm_vze_sync> syncs, uint64_t& seqno) {
    if (batches.size() > DRM_VZE_MAX_BATCHES || syncs.size() > DRM_VZE_MAX_SYNCS)
        return EINVAL;
    drm_vze_exec args{};
    args.queue_id = queue;
    args.num_batches = static_cast<uint32_t>(batches.size());
    args.num_syncs = static_cast<uint32_t>(syncs.size());
    args.batches = batches.empty() ? 0 : toU64(batches.data());
    args.syncs = syncs.empty() ? 0 : toU64(syncs.data());
    int error = call(DRM_IOCTL_VZE_EXEC, &args);
    if (error == 0)
        seqno = args.seqno;
    return error;
}

int DeviceFile::fenceWait(const volatile uint64_t* address, uint64_t value, uint32_t op,
                          uint32_t queue, int64_t absTimeoutNs) {
    drm_vze_fence_wait args{};
    args.addr = reinterpret_cast<uintptr_t>(address);
    args.value = value;
    args.op = op;
    args.queue_id = queue;
    args.timeout_ns = absTimeoutNs;
    return call(DRM_IOCTL_VZE_FENCE_WAIT, &args);
}

int DeviceFile::fenceWake() {
    drm_vze_fence_wake args{};
    return call(DRM_IOCTL_VZE_FENCE_WAKE, &args);
}

// ---- syncobjs

int DeviceFile::createSyncobj(uint32_t& handle) {
    drm_syncobj_create args{};
    int error = call(DRM_IOCTL_SYNCOBJ_CREATE, &args);
    if (error == 0)
        handle = args.handle;
    return error;
}

void DeviceFile::destroySyncobj(uint32_t handle) {
    if (handle == 0)
        return;
    drm_syncobj_destroy args{};
    args.handle = handle;
    call(DRM_IOCTL_SYNCOBJ_DESTROY, &args);
}

int DeviceFile::waitSyncobj(uint32_t handle, uint64_t point, int64_t absTimeoutNs) {
    const int64_t timeout = absTimeoutNs < 0 ? INT64_MAX : absTimeoutNs;
    const uint32_t flags = DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT;
    if (point == 0) {
        drm_syncobj_wait args{};
        args.handles = toU64(&handle);
        args.count_handles = 1;
        args.timeout_nsec = timeout;
        args.flags = flags;
        return call(DRM_IOCTL_SYNCOBJ_WAIT, &args);
    }
    drm_syncobj_timeline_wait args{};
    args.handles = toU64(&handle);
    args.points = toU64(&point);
    args.count_handles = 1;
    args.timeout_nsec = timeout;
    args.flags = flags;
    return call(DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, &args);
}

// ---- time

int64_t monotonicNow() noexcept {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

int64_t monotonicDeadline(uint64_t ns) noexcept {
    const int64_t now = monotonicNow();
    if (ns == UINT64_MAX || ns > static_cast<uint64_t>(INT64_MAX - now))
        return -1;
    return now + static_cast<int64_t>(ns);
}

} // namespace vze::kmd
