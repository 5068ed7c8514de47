// SPDX-License-Identifier: MIT
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <system_error>
#include <utility>

namespace vgpu {

/** Owns one file descriptor and closes it. */
class FileDescriptor {
public:
    FileDescriptor() = default;
    explicit FileDescriptor(int fd) : fd_(fd) {}
    FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    FileDescriptor& operator=(FileDescriptor&& other) noexcept {
        if (this != &other) {
            reset();
            fd_ = std::exchange(other.fd_, -1);
        }
        return *this;
    }
    ~FileDescriptor() { reset(); }

    int get() const { return fd_; }
    bool valid() const { return fd_ >= 0; }
    void reset() {
        if (fd_ >= 0)
            close(fd_);
        fd_ = -1;
    }

private:
    int fd_ = -1;
};

/** Owns a shared, writable mapping of a file. */
class Mapping {
public:
    Mapping() = default;
    /**
     * Maps the first @p size bytes of @p fd.
     * @throws std::system_error when mmap fails.
     */
    Mapping(int fd, size_t size) : size_(size) {
        void* address = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (address == MAP_FAILED)
            throw std::system_error(errno, std::generic_category(), "mmap");
        address_ = static_cast<std::byte*>(address);
    }
    Mapping(Mapping&& other) noexcept
        : address_(std::exchange(other.address_, nullptr)), size_(std::exchange(other.size_, 0)) {}
    Mapping& operator=(Mapping&& other) noexcept {
        std::swap(address_, other.address_);
        std::swap(size_, other.size_);
        return *this;
    }
    ~Mapping() {
        if (address_ != nullptr)
            munmap(address_, size_);
    }

    std::byte* data() const { return address_; }
    size_t size() const { return size_; }
    std::span<std::byte> bytes() const { return {address_, size_}; }

private:
    std::byte* address_ = nullptr;
    size_t size_ = 0;
};

} // namespace vgpu
