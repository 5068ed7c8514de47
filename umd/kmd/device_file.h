// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <drm/vze_drm.h>

namespace vze::kmd {

/// A render node of a vze device.
struct NodeInfo {
    std::string path; ///< e.g. /dev/dri/renderD128
};

/// A file descriptor that closes itself.
class UniqueFd {
public:
    UniqueFd() = default;
    explicit UniqueFd(int fd) noexcept : m_fd(fd) {}
    UniqueFd(UniqueFd&& other) noexcept : m_fd(other.release()) {}
    UniqueFd& operator=(UniqueFd&& other) noexcept;
    ~UniqueFd() { reset(); }
    int get() const noexcept { return m_fd; }
    int release() noexcept;
    void reset() noexcept;
    explicit operator bool() const noexcept { return m_fd >= 0; }

private:
    int m_fd = -1;
};

/// One open render node: the only place that does ioctls.
///
/// All functions return 0 or a positive errno and may be called from any thread. In a child that
/// forked after the open they return EPERM without asking the kernel: the open file is the parent's
/// too, and a child that closed handles or unmapped ranges would take them from it.
class DeviceFile {
public:
    /// Render nodes whose driver is vze, in the order of their numbers. Their version is not
    /// checked. @p denied: there are some that this process may not open.
    static std::vector<NodeInfo> enumerate(bool& denied);

    /// Opens a node and checks the interface version (EPROTO on mismatch, with a log line that
    /// names both versions).
    static int open(const NodeInfo& node, std::unique_ptr<DeviceFile>& out);

    DeviceFile(const DeviceFile&) = delete;
    DeviceFile& operator=(const DeviceFile&) = delete;
    ~DeviceFile();

    /// Whether the device was not removed.
    bool isPresent();
    int queryDevice(drm_vze_query_device& out);
    int queryMemory(drm_vze_query_memory& out);
    int queryClock(drm_vze_query_clock& out);
    /// Fills @p counters as far as it reaches; see enum vze_hw_counter.
    int queryCounters(std::span<uint64_t> counters);

    int createVm(uint32_t& id);
    int destroyVm(uint32_t id);
    int vmInfo(uint32_t id, drm_vze_vm_info& out);
    /// Any number of operations up to DRM_VZE_MAX_BIND_OPS, all or nothing. @p flags:
    /// DRM_VZE_VM_BIND_*. No operation: only waits and signals.
    int bind(uint32_t vm, std::span<const drm_vze_bind_op> ops,
             std::span<const drm_vze_sync> syncs = {}, uint32_t flags = 0);

    int createGem(uint64_t size, uint32_t placement, uint32_t flags, uint32_t& handle);
    /// @p source: a device that has the same memory as object @p sourceHandle; its pages are used.
    int createUserptr(const void* address, uint64_t size, bool readOnly, uint32_t& handle,
                      const DeviceFile* source = nullptr, uint32_t sourceHandle = 0);
    /// Drops one reference to a handle: a handle that importDmaBuf() gave n times is closed at the
    /// n-th.
    void closeGem(uint32_t handle);
    /// One more reference to a handle that stays open meanwhile.
    void holdGem(uint32_t handle);
    int gemInfo(uint32_t handle, drm_vze_gem_info& out);

    int exportDmaBuf(uint32_t handle, UniqueFd& out);
    /// The kernel gives one handle per object and file; each success counts one reference to it.
    int importDmaBuf(int fd, uint32_t& handle);

    int createShare(drm_vze_share_create& inOut);
    int openShare(drm_vze_share_open& inOut);
    int putShare(uint64_t id);
    /// A share descriptor: by token, or of the share that object @p view was opened from.
    int shareFd(const drm_vze_share_token& token, UniqueFd& out);
    int shareFdOfView(uint32_t view, UniqueFd& out);
    /// EINVAL, EBADF: @p fd is no share descriptor.
    int shareInfo(int fd, drm_vze_share_info& out);
    /// Fills @p importers as far as it reaches; @p num is how many there are. ENOENT: not a share
    /// of this process.
    int shareImporters(uint64_t id, std::span<drm_vze_share_importer> importers, uint32_t& num);
    /// @p flags: DRM_VZE_SHARE_REVOKE_*. ENOENT: not a share of this process.
    int revokeShare(uint64_t id, uint32_t flags, drm_vze_share_revoke& out);

    /// @p priority: DRM_VZE_PRIORITY_*.
    int createQueue(uint32_t vm, uint32_t priority, uint32_t& id);
    int destroyQueue(uint32_t id);
    int queueState(uint32_t id, drm_vze_queue_state& out);
    int exec(uint32_t queue, std::span<const drm_vze_batch> batches,
             std::span<const drm_vze_sync> syncs, uint64_t& seqno);

    /// Restarted on signals. @p op: VZE_HW_WAIT_*; @p queue 0: none; @p absTimeoutNs:
    /// CLOCK_MONOTONIC, negative for ever, 0 only looks (ETIME when not fulfilled).
    int fenceWait(const volatile uint64_t* address, uint64_t value, uint32_t op, uint32_t queue,
                  int64_t absTimeoutNs);
    int fenceWake();

    int createSyncobj(uint32_t& handle);
    void destroySyncobj(uint32_t handle);
    /// Waits until the point (0: binary) has a fence and it signals. ETIME after @p absTimeoutNs.
    int waitSyncobj(uint32_t handle, uint64_t point, int64_t absTimeoutNs);

    /// CPU mapping of [address, address + size) that shows what VM @p vm maps there; replaces
    /// whatever the process has there (MAP_FIXED).
    int mmapVm(uint32_t vm, void* address, uint64_t size, bool writable = true);
    /// The same of an object's own memory, which may be another driver's.
    int mmapGem(uint32_t handle, void* address, uint64_t size, bool writable);

    int fd() const noexcept { return m_fd.get(); }
    const std::string& path() const noexcept { return m_path; }

private:
    DeviceFile(UniqueFd fd, std::string path);
    int call(unsigned long request, void* argument);
    int mmapFixed(void* address, uint64_t size, bool writable, uint64_t offset);

    UniqueFd m_fd;
    std::string m_path;
    unsigned m_forkGeneration;
    std::mutex m_importMutex;
    std::unordered_map<uint32_t, uint32_t> m_importReferences;
};

/// Now on CLOCK_MONOTONIC, and @p ns later (saturating; UINT64_MAX gives "for ever", -1).
int64_t monotonicNow() noexcept;
int64_t monotonicDeadline(uint64_t ns) noexcept;

/// Makes an open of a share one by descriptor: having that is the right, so that no secret goes
/// with it.
void openByDescriptor(drm_vze_share_open& args, int fd) noexcept;

} // namespace vze::kmd
