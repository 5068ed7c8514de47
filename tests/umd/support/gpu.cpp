// SPDX-License-Identifier: MIT
#include "gpu.h"

#include <cstdlib>
#include <cstring>

#include <sys/mman.h>
#include <unistd.h>

namespace vze::test {

namespace {

struct Loaded {
    bool tried = false;
    ze_driver_handle_t driver = nullptr;
    std::vector<ze_device_handle_t> devices;
};

Loaded& loaded() {
    static Loaded state;
    return state;
}

bool environmentIsSet(const char* name) {
    const char* value = std::getenv(name);
    return value && *value && std::strcmp(value, "0") != 0;
}

/* A driver is ours when it has our own extension function; another may be loaded beside it. */
bool isVze(ze_driver_handle_t candidate) {
    void* function = nullptr;
    return zeDriverGetExtensionFunctionAddress(candidate, "zexVzeContextGetStatistics",
                                               &function) == ZE_RESULT_SUCCESS &&
           function;
}

} // namespace

bool initDriver() {
    Loaded& state = loaded();
    if (state.tried)
        return state.driver != nullptr;
    state.tried = true;

    ze_init_driver_type_desc_t type{};
    type.stype = ZE_STRUCTURE_TYPE_INIT_DRIVER_TYPE_DESC;
    type.flags = ZE_INIT_DRIVER_TYPE_FLAG_GPU;
    uint32_t count = 0;
    ze_result_t result = zeInitDrivers(&count, nullptr, &type);
    if (result != ZE_RESULT_SUCCESS || count == 0) {
        ADD_FAILURE() << "zeInitDrivers: " << Result{result} << ", " << count
                      << " drivers (ZE_ENABLE_ALT_DRIVERS must name libze_vze.so.1)";
        return false;
    }
    std::vector<ze_driver_handle_t> drivers(count);
    result = zeInitDrivers(&count, drivers.data(), &type);
    if (result != ZE_RESULT_SUCCESS) {
        ADD_FAILURE() << "zeInitDrivers: " << Result{result};
        return false;
    }
    for (ze_driver_handle_t candidate : drivers) {
        if (isVze(candidate)) {
            state.driver = candidate;
            break;
        }
    }
    if (!state.driver) {
        ADD_FAILURE() << "none of " << count << " drivers is vze";
        return false;
    }
    uint32_t deviceCount = 0;
    result = zeDeviceGet(state.driver, &deviceCount, nullptr);
    state.devices.resize(deviceCount);
    if (result == ZE_RESULT_SUCCESS)
        result = zeDeviceGet(state.driver, &deviceCount, state.devices.data());
    if (result != ZE_RESULT_SUCCESS || state.devices.empty()) {
        ADD_FAILURE() << "zeDeviceGet: " << Result{result} << ", " << deviceCount << " devices";
        state.driver = nullptr;
        return false;
    }
    // The driver's own context comes with its first use and stays: that is no leak of the first
    // user.
    zeDriverGetDefaultContext(state.driver);
    return true;
}

ze_driver_handle_t driver() {
    return loaded().driver;
}

const std::vector<ze_device_handle_t>& devices() {
    return loaded().devices;
}

bool hasExtension(const std::string& name) {
    uint32_t count = 0;
    if (zeDriverGetExtensionProperties(driver(), &count, nullptr) != ZE_RESULT_SUCCESS)
        return false;
    std::vector<ze_driver_extension_properties_t> extensions(count);
    if (zeDriverGetExtensionProperties(driver(), &count, extensions.data()) != ZE_RESULT_SUCCESS)
        return false;
    for (const auto& extension : extensions) {
        if (name == extension.name)
            return true;
    }
    return false;
}

bool loaderInterceptsHandles() {
    return environmentIsSet("ZE_ENABLE_LOADER_INTERCEPT");
}

bool parameterValidationActive() {
    return environmentIsSet("ZE_ENABLE_PARAMETER_VALIDATION");
}

ze_device_handle_t deviceOfHostObjects() {
    return parameterValidationActive() ? devices().front() : nullptr;
}

ze_context_handle_t newContext() {
    ze_context_desc_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC;
    ze_context_handle_t context = nullptr;
    return zeContextCreate(driver(), &desc, &context) == ZE_RESULT_SUCCESS ? context : nullptr;
}

uint64_t usableMemory(ze_device_handle_t device) {
    ze_device_usablemem_size_ext_properties_t usable{};
    usable.stype = ZE_STRUCTURE_TYPE_DEVICE_USABLEMEM_SIZE_EXT_PROPERTIES;
    ze_device_properties_t properties{};
    properties.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES;
    properties.pNext = &usable;
    EXPECT_OK(zeDeviceGetProperties(device, &properties));
    return usable.currUsableMemSize;
}

ze_device_mem_alloc_desc_t deviceDesc(const void* next, uint32_t flags) {
    ze_device_mem_alloc_desc_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC;
    desc.pNext = next;
    desc.flags = flags;
    return desc;
}

ze_host_mem_alloc_desc_t hostDesc(const void* next, uint32_t flags) {
    ze_host_mem_alloc_desc_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC;
    desc.pNext = next;
    desc.flags = flags;
    return desc;
}

ze_external_memmap_sysmem_ext_desc_t importDesc(void* memory, size_t size, const void* next) {
    ze_external_memmap_sysmem_ext_desc_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_EXTERNAL_MEMMAP_SYSMEM_EXT_DESC;
    desc.pNext = next;
    desc.pSystemMemory = memory;
    desc.size = size;
    return desc;
}

ze_result_t importMemory(ze_context_handle_t context, void* memory, size_t size, void** out,
                         uint32_t flags) {
    auto external = importDesc(memory, size);
    auto desc = hostDesc(&external, flags);
    return zeMemAllocHost(context, &desc, size, 0, out);
}

AllocInfo allocInfo(ze_context_handle_t context, const void* pointer) {
    ze_memory_allocation_properties_t properties{};
    properties.stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES;
    ze_device_handle_t device = nullptr;
    EXPECT_OK(zeMemGetAllocProperties(context, pointer, &properties, &device));
    return {properties.type, properties.id, properties.pageSize, device};
}

ze_result_t exportDescriptor(ze_context_handle_t context, const void* pointer, int& fd) {
    ze_external_memory_export_fd_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_FD;
    desc.flags = ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF;
    desc.fd = fd;
    ze_memory_allocation_properties_t properties{};
    properties.stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES;
    properties.pNext = &desc;
    const ze_result_t result = zeMemGetAllocProperties(context, pointer, &properties, nullptr);
    fd = desc.fd;
    return result;
}

ImmediateList::ImmediateList(ze_context_handle_t context, ze_device_handle_t device,
                             ze_command_queue_mode_t mode, ze_command_queue_flags_t flags) {
    ze_command_queue_desc_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC;
    desc.mode = mode;
    desc.flags = flags;
    EXPECT_OK(zeCommandListCreateImmediate(context, device, &desc, &list_));
}

ImmediateList::~ImmediateList() {
    if (list_) {
        EXPECT_OK(zeCommandListDestroy(list_));
    }
}

ze_result_t ImmediateList::copyAsync(void* dst, const void* src, size_t size) {
    return zeCommandListAppendMemoryCopy(list_, dst, src, size, nullptr, 0, nullptr);
}

ze_result_t ImmediateList::fillAsync(void* dst, uint8_t value, size_t size) {
    return zeCommandListAppendMemoryFill(list_, dst, &value, 1, size, nullptr, 0, nullptr);
}

ze_result_t ImmediateList::wait(uint64_t timeout) {
    return zeCommandListHostSynchronize(list_, timeout);
}

ze_result_t ImmediateList::copy(void* dst, const void* src, size_t size) {
    ze_result_t result = copyAsync(dst, src, size);
    return result == ZE_RESULT_SUCCESS ? wait() : result;
}

ze_result_t ImmediateList::fill(void* dst, uint8_t value, size_t size) {
    ze_result_t result = fillAsync(dst, value, size);
    return result == ZE_RESULT_SUCCESS ? wait() : result;
}

Events::Events(ze_context_handle_t context, uint32_t count, ze_event_pool_flags_t extraFlags) {
    ze_event_pool_desc_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC;
    desc.flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE | extraFlags;
    desc.count = count;
    EXPECT_OK(zeEventPoolCreate(context, &desc, 0, nullptr, &pool_));
    for (uint32_t i = 0; pool_ && i < count; i++) {
        ze_event_desc_t eventDesc{};
        eventDesc.stype = ZE_STRUCTURE_TYPE_EVENT_DESC;
        eventDesc.index = i;
        eventDesc.signal = ZE_EVENT_SCOPE_FLAG_HOST;
        eventDesc.wait = ZE_EVENT_SCOPE_FLAG_HOST;
        ze_event_handle_t event = nullptr;
        EXPECT_OK(zeEventCreate(pool_, &eventDesc, &event));
        events_.push_back(event);
    }
}

Events::~Events() {
    for (ze_event_handle_t event : events_) {
        if (event) {
            EXPECT_OK(zeEventDestroy(event));
        }
    }
    if (pool_) {
        EXPECT_OK(zeEventPoolDestroy(pool_));
    }
}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
    if (this != &other) {
        reset();
        context_ = other.context_;
        pointer_ = other.release();
    }
    return *this;
}

Buffer Buffer::device(ze_context_handle_t context, ze_device_handle_t device, size_t size,
                      size_t alignment) {
    auto desc = deviceDesc();
    void* pointer = nullptr;
    EXPECT_OK(zeMemAllocDevice(context, &desc, size, alignment, device, &pointer));
    return {context, pointer};
}

Buffer Buffer::host(ze_context_handle_t context, size_t size, size_t alignment) {
    auto desc = hostDesc();
    void* pointer = nullptr;
    EXPECT_OK(zeMemAllocHost(context, &desc, size, alignment, &pointer));
    return {context, pointer};
}

Buffer Buffer::shared(ze_context_handle_t context, ze_device_handle_t device, size_t size,
                      size_t alignment) {
    auto onDevice = deviceDesc();
    auto onHost = hostDesc();
    void* pointer = nullptr;
    EXPECT_OK(zeMemAllocShared(context, &onDevice, &onHost, size, alignment, device, &pointer));
    return {context, pointer};
}

Buffer Buffer::import(ze_context_handle_t context, void* memory, size_t size, uint32_t flags) {
    void* pointer = nullptr;
    EXPECT_OK(importMemory(context, memory, size, &pointer, flags));
    EXPECT_TRUE(pointer == nullptr || pointer == memory)
        << "an import must keep its address: " << memory << " became " << pointer;
    return {context, pointer};
}

void* Buffer::release() {
    void* pointer = pointer_;
    pointer_ = nullptr;
    return pointer;
}

void Buffer::reset() {
    if (pointer_) {
        EXPECT_OK(zeMemFree(context_, pointer_));
    }
    pointer_ = nullptr;
}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
    if (this != &other) {
        reset();
        size_ = other.size_;
        address_ = other.release();
    }
    return *this;
}

Mapping Mapping::anonymous(size_t size) {
    const size_t alignment = size >= 2 * kMiB ? 2 * kMiB : kPage;
    void* space = mmap(nullptr, size + alignment, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space == MAP_FAILED) {
        ADD_FAILURE() << "mmap of " << size << " bytes: " << std::strerror(errno);
        return {};
    }
    auto start = reinterpret_cast<uintptr_t>(space);
    auto aligned = (start + alignment - 1) & ~(uintptr_t{alignment} - 1);
    if (aligned != start)
        munmap(space, aligned - start);
    munmap(reinterpret_cast<void*>(aligned + size), start + alignment - aligned);
    void* address = reinterpret_cast<void*>(aligned);
    if (mprotect(address, size, PROT_READ | PROT_WRITE)) {
        ADD_FAILURE() << "mprotect: " << std::strerror(errno);
        munmap(address, size);
        return {};
    }
    return {address, size};
}

Mapping Mapping::ofFile(int fd, size_t size, int protection, int flags, off_t offset) {
    void* address = mmap(nullptr, size, protection, flags, fd, offset);
    if (address == MAP_FAILED) {
        ADD_FAILURE() << "mmap of descriptor " << fd << ": " << std::strerror(errno);
        return {};
    }
    return {address, size};
}

void Mapping::reset() {
    if (address_)
        munmap(address_, size_);
    address_ = nullptr;
}

void* Mapping::release() {
    void* address = address_;
    address_ = nullptr;
    return address;
}

Fd& Fd::operator=(Fd&& other) noexcept {
    if (this != &other) {
        reset();
        fd_ = other.fd_;
        other.fd_ = -1;
    }
    return *this;
}

void Fd::reset() {
    if (fd_ >= 0)
        close(fd_);
    fd_ = -1;
}

void writePattern(void* to, size_t size, uint32_t seed, size_t from) {
    auto* bytes = static_cast<uint8_t*>(to);
    for (size_t i = 0; i < size; i++)
        bytes[i] = patternByte(from + i, seed);
}

int64_t firstMismatch(const void* data, size_t size, uint32_t seed, size_t from) {
    const auto* bytes = static_cast<const uint8_t*>(data);
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] != patternByte(from + i, seed))
            return static_cast<int64_t>(i);
    }
    return -1;
}

int64_t firstDifferent(const void* data, size_t size, uint8_t value) {
    const auto* bytes = static_cast<const uint8_t*>(data);
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] != value)
            return static_cast<int64_t>(i);
    }
    return -1;
}

} // namespace vze::test
