// SPDX-License-Identifier: MIT
#include "command_line.h"
#include "device.h"
#include "ivshmem_server.h"

#include <gtest/gtest.h>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cstring>

namespace vgpu::test {
namespace {

struct Message {
    int64_t number = 0;
    FileDescriptor fd;
};

Message receive(int from) {
    Message message;
    iovec data{&message.number, sizeof(message.number)};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr header = {};
    header.msg_iov = &data;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof(control);
    EXPECT_EQ(recvmsg(from, &header, MSG_DONTWAIT), static_cast<ssize_t>(sizeof(message.number)));
    if (const cmsghdr* rights = CMSG_FIRSTHDR(&header); rights != nullptr) {
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(rights), sizeof(fd));
        message.fd = FileDescriptor(fd);
    }
    return message;
}

TEST(Ivshmem, TheHandshakeGivesMemoryDoorbellsAndInterrupts) {
    Device device({.vram_size = 4 << 20, .num_queues = 2, .pool_engines = 1});
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    FileDescriptor server(ends[0]);
    const FileDescriptor client(ends[1]);
    ASSERT_TRUE(IvshmemServer::greet(server.get(), device.bar().fd(), device.lines()));

    Message version = receive(client.get());
    EXPECT_EQ(version.number, 0);
    EXPECT_FALSE(version.fd.valid());
    Message id = receive(client.get());
    EXPECT_EQ(id.number, 0);
    EXPECT_FALSE(id.fd.valid());
    Message memory = receive(client.get());
    EXPECT_EQ(memory.number, -1);
    ASSERT_TRUE(memory.fd.valid());
    struct stat status = {};
    ASSERT_EQ(fstat(memory.fd.get(), &status), 0);
    EXPECT_EQ(static_cast<uint64_t>(status.st_size), 8u << 20) << "2 MiB + 4 MiB, rounded up";
    const Mapping bar(memory.fd.get(), 8 << 20);
    EXPECT_EQ(reinterpret_cast<const vze_hw_ident*>(bar.data())->magic, VZE_HW_MAGIC);

    const uint64_t one = 1;
    uint64_t count = 0;
    for (uint32_t vector = 0; vector < VZE_HW_VECTORS; vector++) {
        Message doorbell = receive(client.get());
        EXPECT_EQ(doorbell.number, 1);
        ASSERT_EQ(write(doorbell.fd.get(), &one, sizeof(one)), 8);
        EXPECT_EQ(read(device.lines().doorbell(vector), &count, sizeof(count)), 8);
    }
    InFlight slots;
    Counters counters;
    Engine engine(slots.new_slot(), counters.new_block());
    for (uint32_t vector = 0; vector < VZE_HW_VECTORS; vector++) {
        Message interrupt = receive(client.get());
        EXPECT_EQ(interrupt.number, 0);
        device.lines().raise(vector, engine);
        EXPECT_EQ(read(interrupt.fd.get(), &count, sizeof(count)), 8);
    }
    EXPECT_EQ(counters.sum()[VZE_HW_COUNTER_INTERRUPTS], static_cast<uint64_t>(VZE_HW_VECTORS));
    char byte = 0;
    EXPECT_EQ(recv(client.get(), &byte, 1, MSG_DONTWAIT), -1) << "nothing more is sent";
    server.reset();
    EXPECT_EQ(recv(client.get(), &byte, 1, 0), 0);
}

TEST(Ivshmem, AClientThatLeavesEndsTheHandshake) {
    Device device({.vram_size = 4 << 20, .num_queues = 2, .pool_engines = 1});
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    const FileDescriptor server(ends[0]);
    close(ends[1]);
    EXPECT_FALSE(IvshmemServer::greet(server.get(), device.bar().fd(), device.lines()));
}

TEST(Ivshmem, ListensReplacesAnAbandonedSocketAndCleansUp) {
    const std::string path = ::testing::TempDir() + "vgpu-" + std::to_string(getpid()) + ".sock";
    {
        // A socket file whose process is gone.
        const FileDescriptor gone(socket(AF_UNIX, SOCK_STREAM, 0));
        sockaddr_un address = {};
        address.sun_family = AF_UNIX;
        path.copy(address.sun_path, sizeof(address.sun_path) - 1);
        ASSERT_EQ(bind(gone.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    }
    {
        IvshmemServer server(path);
        EXPECT_THROW(IvshmemServer second(path), std::system_error) << "that one is alive";
        const FileDescriptor client(socket(AF_UNIX, SOCK_STREAM, 0));
        sockaddr_un address = {};
        address.sun_family = AF_UNIX;
        path.copy(address.sun_path, sizeof(address.sun_path) - 1);
        ASSERT_EQ(connect(client.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
        EXPECT_TRUE(server.accept_client().valid());
    }
    EXPECT_NE(access(path.c_str(), F_OK), 0);
    EXPECT_THROW(IvshmemServer too_long(std::string(200, 'x')), std::system_error);
    EXPECT_THROW(IvshmemServer empty(""), std::system_error);
}

TEST(Identity, SaysWhatTheDeviceHas) {
    Device device({.vram_size = 256 << 20,
                   .num_queues = 300,
                   .pool_engines = 3,
                   .strict = true,
                   .name = "a name of more than thirty-one bytes"});
    const vze_hw_ident& ident = device.bar().ident();
    EXPECT_EQ(ident.magic, VZE_HW_MAGIC);
    EXPECT_EQ(std::memcmp(&ident.magic, "VZE-GPU1", 8), 0);
    EXPECT_EQ(ident.version_major, static_cast<uint32_t>(VZE_HW_VERSION_MAJOR));
    EXPECT_EQ(ident.bar_size, 512u << 20);
    EXPECT_EQ(ident.vram_offset, 2u << 20);
    EXPECT_EQ(ident.vram_size, 256u << 20);
    EXPECT_EQ(ident.max_transfer, 64u << 20);
    EXPECT_EQ(ident.page_sizes, 0x40201000u);
    EXPECT_EQ(ident.timestamp_hz, 1000000000u);
    EXPECT_EQ(ident.num_queues, 300u);
    EXPECT_EQ(ident.num_address_spaces, static_cast<uint32_t>(VZE_HW_MAX_ADDRESS_SPACES));
    EXPECT_EQ(ident.va_bits, 48u);
    EXPECT_EQ(ident.num_engines, 3u);
    EXPECT_NE(ident.features & VZE_HW_FEATURE_STRICT, 0u);
    EXPECT_EQ(strnlen(ident.name, sizeof(ident.name)), sizeof(ident.name) - 1);
    Device second({.vram_size = 2 << 20, .num_queues = 1, .pool_engines = 1});
    EXPECT_NE(second.bar().ident().epoch, ident.epoch);
    EXPECT_NE(std::memcmp(second.bar().ident().uuid, ident.uuid, 16), 0);
    EXPECT_EQ(second.bar().ident().max_transfer, 16u << 20);
}

TEST(CommandLine, Sizes) {
    EXPECT_EQ(parse_size("0"), 0u);
    EXPECT_EQ(parse_size("4096"), 4096u);
    EXPECT_EQ(parse_size("16K"), 16384u);
    EXPECT_EQ(parse_size("3M"), 3u << 20);
    EXPECT_EQ(parse_size("2G"), 2ULL << 30);
    for (const char* bad :
         {"", "K", "-1", "1KB", "1.5G", "18446744073709551616", "17179869184G", " 1"})
        EXPECT_FALSE(parse_size(bad)) << bad;
}

std::optional<Options> parse(std::vector<std::string> arguments, std::string& error) {
    std::vector<char*> argv;
    arguments.insert(arguments.begin(), "vze-vgpu");
    for (std::string& argument : arguments)
        argv.push_back(argument.data());
    argv.push_back(nullptr);
    return parse_options(static_cast<int>(argv.size()) - 1, argv.data(), error);
}

TEST(CommandLine, TakesAllOptions) {
    std::string error;
    const auto options =
        parse({"--socket", "/s", "--ram-file=/r", "--ram-size", "2G", "--vram", "1G", "--strict",
               "--name", "n", "--counters-file", "/c", "--queues", "256", "--interface-version",
               "2.34"},
              error);
    ASSERT_TRUE(options) << error;
    EXPECT_EQ(options->socket, "/s");
    EXPECT_EQ(options->ram_file, "/r");
    EXPECT_EQ(options->ram_size, 2ULL << 30);
    EXPECT_EQ(options->device.vram_size, 1ULL << 30);
    EXPECT_TRUE(options->device.strict);
    EXPECT_EQ(options->device.name, "n");
    EXPECT_EQ(options->counters_file, "/c");
    EXPECT_EQ(options->device.num_queues, 256u);
    EXPECT_EQ(options->device.version_major, 2u);
    EXPECT_EQ(options->device.version_minor, 34u);
    Device device({.vram_size = 4 << 20,
                   .num_queues = 2,
                   .pool_engines = 1,
                   .version_major = options->device.version_major,
                   .version_minor = options->device.version_minor});
    EXPECT_EQ(device.bar().ident().version_major, 2u);
    EXPECT_EQ(device.bar().ident().version_minor, 34u);
    EXPECT_EQ(device.bar().ident().magic, VZE_HW_MAGIC);
}

TEST(CommandLine, RefusesWithAReason) {
    std::string error;
    const std::vector<std::string> good = {"--socket", "/s",         "--ram-file",
                                           "/r",       "--ram-size", "2G"};
    const std::vector<std::vector<std::string>> bad = {{"--vram", "3M"},
                                                       {"--vram", "0"},
                                                       {"--vram", "x"},
                                                       {"--queues", "0"},
                                                       {"--queues", "1025"},
                                                       {"--queues", "9999999999"},
                                                       {"--nonsense"},
                                                       {"extra"},
                                                       {"--ram-size", "5"},
                                                       {"--name", ""},
                                                       {"--name", std::string(32, 'n')},
                                                       {"--interface-version", ""},
                                                       {"--interface-version", "1"},
                                                       {"--interface-version", "1."},
                                                       {"--interface-version", ".1"},
                                                       {"--interface-version", "1.2.3"},
                                                       {"--interface-version", "1.4294967296"},
                                                       {"--socket"},
                                                       {"--socket", ""}};
    ASSERT_TRUE(parse(good, error));
    for (const auto& more : bad) {
        std::vector<std::string> arguments(good);
        arguments.insert(arguments.end(), more.begin(), more.end());
        EXPECT_FALSE(parse(arguments, error)) << more[0];
        EXPECT_FALSE(error.empty()) << more[0];
    }
    EXPECT_FALSE(parse({}, error));
    EXPECT_EQ(error, "--socket is missing");
    EXPECT_FALSE(parse({"--help"}, error));
    EXPECT_TRUE(error.empty());
}

} // namespace
} // namespace vgpu::test
