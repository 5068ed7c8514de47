// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace vze::demo {

/** SHA-256 (FIPS 180-4) of a stream of bytes. */
class Sha256 {
public:
    using Digest = std::array<uint8_t, 32>;

    void add(const void* bytes, size_t size);
    /** The digest of all that was added; the object is used up. */
    Digest finish();

    static Digest of(const void* bytes, size_t size);
    static std::string hex(const Digest& digest);
    /** The standard's own examples; false when this implementation is wrong. */
    static bool selfTest();

private:
    void block(const uint8_t* bytes);

    std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    std::array<uint8_t, 64> pending_{};
    size_t pendingSize_ = 0;
    uint64_t total_ = 0;
};

} // namespace vze::demo
