// SPDX-License-Identifier: MIT
#include "event_lines.h"

#include <sys/eventfd.h>

#include <cerrno>
#include <system_error>

namespace vgpu {
namespace {

FileDescriptor new_eventfd() {
    FileDescriptor fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!fd.valid())
        throw std::system_error(errno, std::generic_category(), "eventfd");
    return fd;
}

} // namespace

EventLines::EventLines() {
    for (FileDescriptor& fd : doorbells_)
        fd = new_eventfd();
    for (FileDescriptor& fd : interrupts_)
        fd = new_eventfd();
}

void EventLines::raise(uint32_t vector, Engine& engine) const {
    const uint64_t one = 1;

    // EAGAIN means that 2^64 - 2 interrupts wait already: then one more would be merged anyway.
    while (write(interrupts_[vector].get(), &one, sizeof(one)) < 0 && errno == EINTR) {
    }
    engine.counters.add(VZE_HW_COUNTER_INTERRUPTS, 1);
}

bool EventLines::clear(int fd) {
    uint64_t count = 0;
    ssize_t got = 0;

    do {
        got = read(fd, &count, sizeof(count));
    } while (got < 0 && errno == EINTR);
    return got == sizeof(count);
}

} // namespace vgpu
