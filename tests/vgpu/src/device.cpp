// SPDX-License-Identifier: MIT
#include "device.h"

#include "shared_word.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <system_error>

namespace vgpu {
namespace {

/** Parked waits are evaluated, and the heartbeat moves, this often. */
constexpr std::chrono::milliseconds kBeat{20};

unsigned pool_size(const DeviceOptions& options) {
    if (options.pool_engines != 0)
        return options.pool_engines;
    return std::max(2u, std::thread::hardware_concurrency());
}

uint64_t features(const DeviceOptions& options) {
    return (options.strict ? VZE_HW_FEATURE_STRICT : 0) |
           (options.compression ? VZE_HW_FEATURE_COMPRESSION : 0);
}

BarLayout layout(const DeviceOptions& options) {
    return {.vram_size = options.vram_size,
            .num_queues = options.num_queues,
            .num_engines = pool_size(options),
            .features = features(options),
            .version_major = options.version_major,
            .version_minor = options.version_minor,
            .name = options.name};
}

} // namespace

Device::Device(const DeviceOptions& options)
    : bar_(layout(options)), end_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), memory_(bar_.vram()),
      compression_(bar_.vram()), spaces_(memory_, compression_, bar_.windows(), features(options)),
      waits_(spaces_), faults_(bar_, lines_),
      runner_(bar_, spaces_, lines_, faults_, waits_, pool_size(options)),
      scheduler_(bar_, waits_, runner_, options.num_queues),
      control_(bar_, compression_, spaces_, scheduler_, waits_, counters_, lines_, faults_),
      pool_engines_(pool_size(options)) {
    if (!end_.valid())
        throw std::system_error(errno, std::generic_category(), "eventfd");
}

Device::~Device() {
    stop();
}

Engine& Device::new_engine() {
    return engines_.emplace_back(spaces_.in_flight().new_slot(), counters_.new_block());
}

void Device::start(std::span<std::byte> ram) {
    memory_.attach_ram(ram);
    // All engines exist before the first thread: their lists do not change any more.
    for (unsigned i = 0; i < pool_engines_ + 3; i++)
        new_engine();
    beating_.store(true, std::memory_order_relaxed);
    heartbeat_ = std::thread([this] { beat(engines_[0]); });
    threads_.emplace_back([this] { serve_control(engines_[1]); });
    threads_.emplace_back([this] { serve_doorbells(engines_[2]); });
    for (unsigned i = 0; i < pool_engines_; i++)
        threads_.emplace_back([this, i] { scheduler_.work(engines_[3 + i]); });
    store_release(bar_.regs().device_state, VZE_HW_STATE_RUNNING);
}

void Device::stop() {
    if (!heartbeat_.joinable()) {
        store_release(bar_.regs().device_state, VZE_HW_STATE_STOPPED);
        return;
    }
    const uint64_t one = 1;
    if (write(end_.get(), &one, sizeof(one)) != sizeof(one))
        std::terminate(); // a fresh eventfd takes one write
    scheduler_.shut_down();
    for (std::thread& thread : threads_)
        thread.join();
    threads_.clear();
    beating_.store(false, std::memory_order_relaxed);
    heartbeat_.join();
    // Nothing runs any more, so that this waits for nobody; it shows the queues as absent.
    control_.reset_device(engines_[1]);
    counters_.publish(bar_.counters());
    store_release(bar_.regs().device_state, VZE_HW_STATE_STOPPED);
}

bool Device::wait_for(int first, int second) const {
    pollfd fds[] = {{end_.get(), POLLIN, 0}, {first, POLLIN, 0}, {second, POLLIN, 0}};

    while (poll(fds, std::size(fds), -1) < 0 && errno == EINTR) {
    }
    return (fds[0].revents & POLLIN) == 0;
}

void Device::serve_control(Engine& engine) {
    const int doorbell = lines_.doorbell(VZE_HW_DB_CTRL);

    while (wait_for(doorbell, -1)) {
        EventLines::clear(doorbell);
        control_.process(engine);
    }
}

void Device::serve_doorbells(Engine& engine) {
    const int queue = lines_.doorbell(VZE_HW_DB_QUEUE);
    const int wake = lines_.doorbell(VZE_HW_DB_WAKE);

    while (wait_for(queue, wake)) {
        if (EventLines::clear(queue))
            scheduler_.doorbell(engine);
        if (EventLines::clear(wake))
            waits_.evaluate_all(engine);
    }
}

void Device::beat(Engine& engine) {
    for (uint64_t beats = 1; beating_.load(std::memory_order_relaxed); beats++) {
        store_release(bar_.regs().heartbeat, beats);
        counters_.publish(bar_.counters());
        waits_.evaluate_all(engine);
        std::this_thread::sleep_for(kBeat);
    }
}

} // namespace vgpu
