// SPDX-License-Identifier: MIT
#include "core/ipc_handle.h"

#include <cstring>

#include <gtest/gtest.h>

using namespace vze;

namespace {

IpcHandle sample() {
    IpcHandle handle;
    handle.fd = 17;
    handle.kind = IpcKind::Range;
    handle.cpuAccess = true;
    handle.token.id = 0x1122334455667788;
    for (size_t i = 0; i < sizeof(handle.token.secret); ++i)
        handle.token.secret[i] = static_cast<uint8_t>(0xa0 + i);
    handle.size = (5ULL << 32) + 1;
    handle.inode = 77;
    handle.pageOffset = 4095;
    return handle;
}

TEST(IpcHandle, RoundTrip) {
    ze_ipc_mem_handle_t bytes{};
    const IpcHandle in = sample();
    encodeIpcHandle(in, bytes);
    IpcHandle out;
    ASSERT_EQ(decodeIpcHandle(bytes, out), IpcForm::Whole);
    EXPECT_EQ(out.fd, in.fd);
    EXPECT_EQ(out.kind, in.kind);
    EXPECT_EQ(out.cpuAccess, in.cpuAccess);
    EXPECT_EQ(out.token.id, in.token.id);
    EXPECT_EQ(memcmp(out.token.secret, in.token.secret, sizeof(in.token.secret)), 0);
    EXPECT_EQ(out.size, in.size);
    EXPECT_EQ(out.inode, in.inode);
    EXPECT_EQ(out.pageOffset, in.pageOffset);
}

TEST(IpcHandle, DescriptorStandsInTheFirstFourBytes) {
    ze_ipc_mem_handle_t bytes{};
    encodeIpcHandle(sample(), bytes);
    int32_t fd = 0;
    memcpy(&fd, bytes.data, sizeof(fd));
    EXPECT_EQ(fd, 17);
    // Clients put their own descriptor there: the handle is the same.
    fd = 99;
    memcpy(bytes.data, &fd, sizeof(fd));
    IpcHandle out;
    ASSERT_EQ(decodeIpcHandle(bytes, out), IpcForm::Whole);
    EXPECT_EQ(out.fd, 99);
    EXPECT_EQ(out.token.id, sample().token.id);
}

TEST(IpcHandle, DescriptorAndZeros) {
    ze_ipc_mem_handle_t bytes{};
    const int32_t fd = 5;
    memcpy(bytes.data, &fd, sizeof(fd));
    IpcHandle out;
    ASSERT_EQ(decodeIpcHandle(bytes, out), IpcForm::Descriptor);
    EXPECT_EQ(out.fd, 5);
    const int32_t none = -1;
    memcpy(bytes.data, &none, sizeof(none));
    EXPECT_EQ(decodeIpcHandle(bytes, out), IpcForm::Invalid);
}

// Which bytes are checked without the kernel's help: all but descriptor, token, size and inode,
// where any value may be right.
TEST(IpcHandle, DamagedBytes) {
    for (size_t byte = 4; byte < sizeof(ze_ipc_mem_handle_t); ++byte) {
        ze_ipc_mem_handle_t bytes{};
        encodeIpcHandle(sample(), bytes);
        bytes.data[byte] = static_cast<char>(bytes.data[byte] ^ 0x40);
        IpcHandle out;
        const bool offset = byte == 12; // 4095 ^ 0x40 is another valid offset
        const bool checked = (byte < 16 && !offset) || byte >= 56 || byte == 46 || byte == 47;
        EXPECT_EQ(decodeIpcHandle(bytes, out), checked ? IpcForm::Invalid : IpcForm::Whole) << byte;
    }
}

TEST(IpcHandle, SizeAndOffsetLimits) {
    IpcHandle handle = sample();
    ze_ipc_mem_handle_t bytes{};
    IpcHandle out;
    handle.size = 0;
    encodeIpcHandle(handle, bytes);
    EXPECT_EQ(decodeIpcHandle(bytes, out), IpcForm::Invalid);
    handle = sample();
    handle.size = (1ULL << 47) + 1;
    encodeIpcHandle(handle, bytes);
    EXPECT_EQ(decodeIpcHandle(bytes, out), IpcForm::Invalid);
    handle = sample();
    handle.pageOffset = 4096;
    encodeIpcHandle(handle, bytes);
    EXPECT_EQ(decodeIpcHandle(bytes, out), IpcForm::Invalid);
}

// What the kernel keeps with a share says the same as the handle.
TEST(IpcHandle, UserData) {
    for (IpcKind kind : {IpcKind::Object, IpcKind::Range}) {
        for (bool cpuAccess : {false, true}) {
            for (uint32_t offset : {0u, 1u, 4095u}) {
                for (uint64_t size : {1ULL, 4095ULL, 4096ULL, 4097ULL, (5ULL << 32) + 1}) {
                    IpcHandle in;
                    in.kind = kind;
                    in.cpuAccess = cpuAccess;
                    in.pageOffset = offset;
                    in.size = size;
                    const uint64_t shareSize = (offset + size + 4095) & ~4095ULL;
                    IpcHandle out;
                    ASSERT_TRUE(readIpcUserData(ipcUserData(in), shareSize, out));
                    EXPECT_EQ(out.kind, kind);
                    EXPECT_EQ(out.cpuAccess, cpuAccess);
                    EXPECT_EQ(out.pageOffset, offset);
                    EXPECT_EQ(out.size, size);
                }
            }
        }
    }
}

TEST(IpcHandle, UserDataOfOthers) {
    const IpcHandle good = sample();
    const uint64_t data = ipcUserData(good);
    const uint64_t size = (good.pageOffset + good.size + 4095) & ~4095ULL;
    IpcHandle out;
    EXPECT_FALSE(readIpcUserData(0, size, out));
    EXPECT_FALSE(readIpcUserData(data | 1ULL << 31, size, out)) << "a bit that is not used";
    EXPECT_FALSE(readIpcUserData(data | 1ULL << 63, size, out)) << "another kind";
    EXPECT_TRUE(readIpcUserData(data, size, out));

    // From the last byte of a page to the first of the next: in one page no byte is left.
    IpcHandle across = good;
    across.pageOffset = 4095;
    across.size = 2;
    EXPECT_FALSE(readIpcUserData(ipcUserData(across), 4096, out));
    EXPECT_TRUE(readIpcUserData(ipcUserData(across), 8192, out));
}

} // namespace
