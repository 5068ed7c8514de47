// SPDX-License-Identifier: MIT
#include "command_line.h"

#include <getopt.h>

#include <algorithm>
#include <charconv>

namespace vgpu {
namespace {

constexpr uint64_t kVramAlignment = 2ULL << 20;
constexpr uint64_t kMaxVram = 1ULL << 40;

enum : int { kSocket = 1, kRamFile, kRamSize, kVram, kStrict, kName, kCounters, kQueues, kVersion, kHelp };

constexpr option kOptions[] = {
    {"socket", required_argument, nullptr, kSocket},
    {"ram-file", required_argument, nullptr, kRamFile},
    {"ram-size", required_argument, nullptr, kRamSize},
    {"vram", required_argument, nullptr, kVram},
    {"strict", no_argument, nullptr, kStrict},
    {"name", required_argument, nullptr, kName},
    {"counters-file", required_argument, nullptr, kCounters},
    {"queues", required_argument, nullptr, kQueues},
    {"interface-version", required_argument, nullptr, kVersion},
    {"help", no_argument, nullptr, kHelp},
    {nullptr, 0, nullptr, 0},
};

/** "MAJOR.MINOR" into the options; false when it is not that. */
bool parse_version(std::string_view text, DeviceOptions& options) {
    const char* const end = text.data() + text.size();
    const auto major = std::from_chars(text.data(), end, options.version_major);

    if (major.ec != std::errc{} || major.ptr == end || *major.ptr != '.')
        return false;
    const auto minor = std::from_chars(major.ptr + 1, end, options.version_minor);
    return minor.ec == std::errc{} && minor.ptr == end;
}

std::string check(const Options& options) {
    if (options.socket.empty())
        return "--socket is missing";
    if (options.ram_file.empty())
        return "--ram-file is missing";
    if (options.ram_size == 0 || options.ram_size % VZE_HW_PAGE_SIZE != 0)
        return "--ram-size must be a multiple of 4K and not 0";
    if (options.device.vram_size == 0 || options.device.vram_size % kVramAlignment != 0 ||
        options.device.vram_size > kMaxVram)
        return "--vram must be a multiple of 2M, not 0 and at most 1024G";
    if (options.device.num_queues == 0 || options.device.num_queues > VZE_HW_MAX_QUEUES)
        return "--queues must be 1.." + std::to_string(VZE_HW_MAX_QUEUES);
    if (options.device.name.empty() || options.device.name.size() >= sizeof(vze_hw_ident::name))
        return "--name must have 1.." + std::to_string(sizeof(vze_hw_ident::name) - 1) + " bytes";
    return {};
}

} // namespace

std::optional<uint64_t> parse_size(std::string_view text) {
    uint64_t value = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);

    if (status != std::errc{})
        return std::nullopt;
    const std::string_view suffix(end, static_cast<size_t>(text.data() + text.size() - end));
    unsigned shift = 0;
    if (suffix == "K" || suffix == "k")
        shift = 10;
    else if (suffix == "M" || suffix == "m")
        shift = 20;
    else if (suffix == "G" || suffix == "g")
        shift = 30;
    else if (!suffix.empty())
        return std::nullopt;
    if (value > (UINT64_MAX >> shift))
        return std::nullopt;
    return value << shift;
}

std::optional<Options> parse_options(int argc, char** argv, std::string& error) {
    Options options;
    uint64_t queues = options.device.num_queues;
    const auto size = [&error](const char* name, uint64_t& to) {
        const std::optional<uint64_t> value = parse_size(optarg);
        if (value)
            to = *value;
        else
            error = std::string(name) + ": '" + optarg + "' is not a size";
    };

    error.clear();
    optind = 0; // starts anew, also when it has been called before
    opterr = 0;
    for (int got = 0; (got = getopt_long(argc, argv, ":", kOptions, nullptr)) != -1;) {
        switch (got) {
        case kSocket:
            options.socket = optarg;
            break;
        case kRamFile:
            options.ram_file = optarg;
            break;
        case kRamSize:
            size("--ram-size", options.ram_size);
            break;
        case kVram:
            size("--vram", options.device.vram_size);
            break;
        case kStrict:
            options.device.strict = true;
            break;
        case kName:
            options.device.name = optarg;
            break;
        case kCounters:
            options.counters_file = optarg;
            break;
        case kQueues:
            size("--queues", queues);
            break;
        case kVersion:
            if (!parse_version(optarg, options.device))
                error = std::string("--interface-version: '") + optarg + "' is not MAJOR.MINOR";
            break;
        case kHelp:
            return std::nullopt;
        case ':':
            error = std::string(argv[optind - 1]) + " needs a value";
            break;
        default:
            error = std::string("unknown option ") + argv[optind - 1];
            break;
        }
        if (!error.empty())
            return std::nullopt;
    }
    if (optind < argc) {
        error = std::string("unexpected argument ") + argv[optind];
        return std::nullopt;
    }
    options.device.num_queues = static_cast<uint32_t>(std::min<uint64_t>(queues, UINT32_MAX));
    error = check(options);
    if (!error.empty())
        return std::nullopt;
    return options;
}

std::string_view usage() {
    return "usage: vze-vgpu --socket PATH --ram-file PATH --ram-size BYTES [options]\n"
           "A virtual PCI GPU that QEMU's ivshmem-doorbell device connects to.\n"
           "  --socket PATH         where to listen for QEMU\n"
           "  --ram-file PATH       the shared file behind the guest's RAM\n"
           "  --ram-size BYTES      its size\n"
           "  --vram BYTES          size of VRAM, a multiple of 2M (default 256M)\n"
           "  --strict              compare every TLB hit with the page tables\n"
           "  --name NAME           model name in the identity page\n"
           "  --queues N            hardware queues (default 1024)\n"
           "  --interface-version MAJOR.MINOR  claim it, to see what a driver refuses\n"
           "  --counters-file PATH  write the counters there at the end, one 'key value' a line\n"
           "BYTES takes the suffixes K, M and G.\n";
}

} // namespace vgpu
