// SPDX-License-Identifier: MIT
#include "peer.h"

#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ipc.h"

namespace vze::test {

enum class Step : uint32_t {
    Open,
    Close,
    Allocate,
    Free,
    Get,
    GetRange,
    Put,
    Check,
    CpuCheck,
    Write,
    Touch,
    CpuTouch,
    Descriptors,
    PidfdOpen,
    TakeDescriptor,
    Finish,
};

struct Peer::Request {
    Step step = Step::Finish;
    uint32_t slot = 0;
    uint64_t offset = 0;
    uint64_t size = 0;
    uint32_t seed = 0;
    uint32_t kind = 0;
    ze_ipc_mem_handle_t handle = {};
};

struct Peer::Reply {
    uint32_t result;
    uint32_t slot;
    int64_t value;
    ze_ipc_mem_handle_t handle;
};

namespace {

/* Processes cannot look into each other by any of these. */
bool denyProcessAccess() {
    static const long denied[] = {SYS_pidfd_open,       SYS_pidfd_getfd,       SYS_ptrace,
                                  SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp};
    std::vector<sock_filter> filter = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
    };
    for (long number : denied) {
        filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(number), 0, 1));
        filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM));
    }
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* In the namespace's first process when this returns; the one outside waits for its end. */
bool enterPidNamespace() {
    if (unshare(CLONE_NEWPID))
        return false;
    const pid_t child = fork();
    if (child < 0)
        return false;
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        return getpid() == 1;
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

bool hideProc() {
    return unshare(CLONE_NEWNS) == 0 &&
           mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           mount("none", "/proc", "tmpfs", 0, nullptr) == 0;
}

bool apply(const PeerSetup& setup) {
    if (setup.descriptors) {
        const rlimit limit{setup.descriptors, setup.descriptors};
        if (setrlimit(RLIMIT_NOFILE, &limit))
            return false;
    }
    if (setup.hideProc && !hideProc())
        return false;
    if (setup.pidNamespace && !enterPidNamespace())
        return false;
    if (setup.user && (setresgid(setup.user, setup.user, setup.user) ||
                       setresuid(setup.user, setup.user, setup.user)))
        return false;
    if (setup.userNamespace && unshare(CLONE_NEWUSER))
        return false;
    if (setup.notDumpable && prctl(PR_SET_DUMPABLE, 0))
        return false;
    return !setup.denyProcessAccess || denyProcessAccess();
}

sigjmp_buf returnFromSignal;

void onSignal(int number) {
    siglongjmp(returnFromSignal, number);
}

int signalOfRead(const volatile uint8_t* byte) {
    struct sigaction action {};
    action.sa_handler = onSignal;
    sigaction(SIGSEGV, &action, nullptr);
    sigaction(SIGBUS, &action, nullptr);
    const int number = sigsetjmp(returnFromSignal, 1);
    if (number == 0)
        static_cast<void>(*byte);
    signal(SIGSEGV, SIG_DFL);
    signal(SIGBUS, SIG_DFL);
    return number;
}

/* The memory of a peer. */
class Desk {
public:
    bool start() {
        if (!initDriver())
            return false;
        context = newContext();
        return context != nullptr;
    }
    ze_device_handle_t device() const { return devices().front(); }
    uint32_t keep(void* pointer) {
        slots.push_back(static_cast<uint8_t*>(pointer));
        return static_cast<uint32_t>(slots.size() - 1);
    }
    ImmediateList& list() {
        if (!list_)
            list_ = std::make_unique<ImmediateList>(context, device());
        return *list_;
    }
    ze_result_t finish() {
        list_.reset();
        return zeContextDestroy(context);
    }

    ze_context_handle_t context = nullptr;
    std::vector<uint8_t*> slots;

private:
    std::unique_ptr<ImmediateList> list_;
};

ze_result_t allocateThere(Desk& desk, PeerMemory kind, size_t size, void** pointer) {
    auto onDevice = deviceDesc();
    auto onHost = hostDesc();
    switch (kind) {
    case PeerMemory::Device:
        return zeMemAllocDevice(desk.context, &onDevice, size, 0, desk.device(), pointer);
    case PeerMemory::Host:
        return zeMemAllocHost(desk.context, &onHost, size, 0, pointer);
    default:
        return zeMemAllocShared(desk.context, &onDevice, &onHost, size, 0, desk.device(), pointer);
    }
}

ze_result_t writeThere(Desk& desk, void* to, size_t size, uint32_t seed) {
    std::vector<uint8_t> bytes(size);
    writePattern(bytes.data(), size, seed);
    return desk.list().copy(to, bytes.data(), size);
}

/* Of a device access on a queue of its own, which a fault stops. */
ze_result_t touchThere(Desk& desk, void* at) {
    ImmediateList own(desk.context, desk.device());
    return own.fill(at, 0x5a, 8);
}

} // namespace

int Peer::serve(int channel, const std::vector<std::string>& arguments) {
    PeerSetup setup;
    if (arguments.size() != 1 || arguments[0].size() != 2 * sizeof setup)
        return 80;
    auto* bytes = reinterpret_cast<uint8_t*>(&setup);
    for (size_t i = 0; i < sizeof setup; i++)
        bytes[i] = static_cast<uint8_t>(std::stoi(arguments[0].substr(2 * i, 2), nullptr, 16));
    if (!apply(setup)) {
        std::perror("peer: setting itself apart");
        return 81;
    }
    Desk desk;
    if (!desk.start())
        return 82;
    Request request;
    while (receiveAll(channel, &request, sizeof request)) {
        Reply reply{};
        reply.slot = request.slot;
        uint8_t* memory = request.slot < desk.slots.size() ? desk.slots[request.slot] : nullptr;
        uint8_t* at = memory + request.offset;
        ze_result_t result = ZE_RESULT_SUCCESS;
        switch (request.step) {
        case Step::Open: {
            void* opened = nullptr;
            result = zeMemOpenIpcHandle(desk.context, desk.device(), request.handle, 0, &opened);
            size_t size = 0;
            if (result == ZE_RESULT_SUCCESS) {
                reply.slot = desk.keep(opened);
                result = zeMemGetAddressRange(desk.context, opened, nullptr, &size);
            }
            reply.value = static_cast<int64_t>(size);
            break;
        }
        case Step::Close:
            result = zeMemCloseIpcHandle(desk.context, memory);
            break;
        case Step::Allocate: {
            void* pointer = nullptr;
            result =
                allocateThere(desk, static_cast<PeerMemory>(request.kind), request.size, &pointer);
            if (result == ZE_RESULT_SUCCESS)
                result = writeThere(desk, pointer, request.size, request.seed);
            reply.slot = desk.keep(pointer);
            break;
        }
        case Step::Free:
            result = zeMemFree(desk.context, memory);
            break;
        case Step::Get:
            result = zeMemGetIpcHandle(desk.context, memory, &reply.handle);
            break;
        case Step::GetRange:
            result = test::getRange(desk.context, at, request.size, &reply.handle);
            break;
        case Step::Put:
            result = zeMemPutIpcHandle(desk.context, request.handle);
            break;
        case Step::Check: {
            std::vector<uint8_t> seen(request.size);
            result = desk.list().copy(seen.data(), at, request.size);
            reply.value = firstMismatch(seen.data(), request.size, request.seed);
            break;
        }
        case Step::CpuCheck:
            reply.value = firstMismatch(at, request.size, request.seed);
            break;
        case Step::Write:
            result = writeThere(desk, at, request.size, request.seed);
            break;
        case Step::Touch:
            result = touchThere(desk, at);
            break;
        case Step::CpuTouch:
            reply.value = signalOfRead(at);
            break;
        case Step::Descriptors:
            reply.value = static_cast<int64_t>(openDescriptors());
            break;
        case Step::PidfdOpen: {
            const long fd = syscall(SYS_pidfd_open, static_cast<pid_t>(request.offset), 0);
            reply.value = fd < 0 ? errno : 0;
            if (fd >= 0)
                ::close(static_cast<int>(fd));
            break;
        }
        case Step::TakeDescriptor:
            reply.value = receiveDescriptor(channel);
            break;
        case Step::Finish:
            return desk.finish() == ZE_RESULT_SUCCESS ? 0 : 83;
        }
        reply.result = static_cast<uint32_t>(result);
        if (!sendAll(channel, &reply, sizeof reply))
            return 84;
    }
    return 85;
}

struct PeerRegistration {
    PeerRegistration() : registration("peer", &Peer::serve) {}
    ChildRegistration registration;
} peerRegistration;

Peer::Peer(const PeerSetup& setup) {
    std::string text;
    const auto* bytes = reinterpret_cast<const uint8_t*>(&setup);
    for (size_t i = 0; i < sizeof setup; i++) {
        char digits[3];
        std::snprintf(digits, sizeof digits, "%02x", bytes[i]);
        text += digits;
    }
    child_ = std::make_unique<Child>("peer", std::vector<std::string>{text});
}

void Peer::kill() {
    child_->signal(SIGKILL);
    EXPECT_EQ(128 + SIGKILL, child_->wait());
}

int Peer::finish() {
    const Request request{.step = Step::Finish};
    return child_->send(&request, sizeof request) ? child_->wait() : -1;
}

Peer::Reply Peer::call(const Request& request, int fd) {
    Reply reply{ZE_RESULT_ERROR_UNKNOWN, 0, -2, {}};
    if (!child_->send(&request, sizeof request) ||
        (fd != -1 && !sendDescriptor(child_->channel(), fd)) ||
        !child_->receive(&reply, sizeof reply))
        ADD_FAILURE() << "the peer does not answer; its status is " << child_->wait();
    return reply;
}

namespace {

template <typename Reply>
ze_result_t resultOf(const Reply& reply) {
    return static_cast<ze_result_t>(reply.result);
}

} // namespace

ze_result_t Peer::open(const ze_ipc_mem_handle_t& handle, uint32_t* slot, uint64_t* size) {
    const Reply reply = call({.step = Step::Open, .handle = handle});
    *slot = reply.slot;
    if (size)
        *size = static_cast<uint64_t>(reply.value);
    return resultOf(reply);
}

ze_result_t Peer::close(uint32_t slot) {
    return resultOf(call({.step = Step::Close, .slot = slot}));
}

ze_result_t Peer::allocate(PeerMemory kind, uint64_t size, uint32_t seed, uint32_t* slot) {
    const Reply reply = call(
        {.step = Step::Allocate, .size = size, .seed = seed, .kind = static_cast<uint32_t>(kind)});
    *slot = reply.slot;
    return resultOf(reply);
}

ze_result_t Peer::free(uint32_t slot) {
    return resultOf(call({.step = Step::Free, .slot = slot}));
}

ze_result_t Peer::get(uint32_t slot, ze_ipc_mem_handle_t* handle) {
    const Reply reply = call({.step = Step::Get, .slot = slot});
    *handle = reply.handle;
    return resultOf(reply);
}

ze_result_t Peer::getRange(uint32_t slot, uint64_t offset, uint64_t size,
                           ze_ipc_mem_handle_t* handle) {
    const Reply reply =
        call({.step = Step::GetRange, .slot = slot, .offset = offset, .size = size});
    *handle = reply.handle;
    return resultOf(reply);
}

ze_result_t Peer::put(const ze_ipc_mem_handle_t& handle) {
    return resultOf(call({.step = Step::Put, .handle = handle}));
}

int64_t Peer::mismatch(uint32_t slot, uint64_t offset, uint64_t size, uint32_t seed) {
    const Reply reply =
        call({.step = Step::Check, .slot = slot, .offset = offset, .size = size, .seed = seed});
    EXPECT_OK(resultOf(reply));
    return reply.value;
}

int64_t Peer::cpuMismatch(uint32_t slot, uint64_t offset, uint64_t size, uint32_t seed) {
    return call(
               {.step = Step::CpuCheck, .slot = slot, .offset = offset, .size = size, .seed = seed})
        .value;
}

ze_result_t Peer::write(uint32_t slot, uint64_t offset, uint64_t size, uint32_t seed) {
    return resultOf(
        call({.step = Step::Write, .slot = slot, .offset = offset, .size = size, .seed = seed}));
}

ze_result_t Peer::touch(uint32_t slot, uint64_t offset) {
    return resultOf(call({.step = Step::Touch, .slot = slot, .offset = offset}));
}

int Peer::cpuTouch(uint32_t slot, uint64_t offset) {
    return static_cast<int>(call({.step = Step::CpuTouch, .slot = slot, .offset = offset}).value);
}

int Peer::give(int fd) {
    return static_cast<int>(call({.step = Step::TakeDescriptor}, fd).value);
}

uint64_t Peer::descriptors() {
    return static_cast<uint64_t>(call({.step = Step::Descriptors}).value);
}

int Peer::pidfdOpen(pid_t pid) {
    return static_cast<int>(
        call({.step = Step::PidfdOpen, .offset = static_cast<uint64_t>(pid)}).value);
}

} // namespace vze::test
