// SPDX-License-Identifier: MIT
#include "sha256.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <vector>

namespace vze::demo {

namespace {

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr std::array<uint32_t, 64> kRound = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

uint32_t bigEndian(const uint8_t* bytes) {
    return static_cast<uint32_t>(bytes[0]) << 24 | static_cast<uint32_t>(bytes[1]) << 16 |
           static_cast<uint32_t>(bytes[2]) << 8 | static_cast<uint32_t>(bytes[3]);
}

} // namespace

void Sha256::block(const uint8_t* bytes) {
    std::array<uint32_t, 64> w;
    for (size_t i = 0; i < 16; i++)
        w[i] = bigEndian(bytes + 4 * i);
    for (size_t i = 16; i < 64; i++) {
        const uint32_t x = w[i - 15];
        const uint32_t y = w[i - 2];
        w[i] = w[i - 16] + (std::rotr(x, 7) ^ std::rotr(x, 18) ^ (x >> 3)) + w[i - 7] +
               (std::rotr(y, 17) ^ std::rotr(y, 19) ^ (y >> 10));
    }
    std::array<uint32_t, 8> s = state_;
    for (size_t i = 0; i < 64; i++) {
        const uint32_t sum1 = std::rotr(s[4], 6) ^ std::rotr(s[4], 11) ^ std::rotr(s[4], 25);
        const uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
        const uint32_t t1 = s[7] + sum1 + choice + kRound[i] + w[i];
        const uint32_t sum0 = std::rotr(s[0], 2) ^ std::rotr(s[0], 13) ^ std::rotr(s[0], 22);
        const uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
        s = {t1 + sum0 + majority, s[0], s[1], s[2], s[3] + t1, s[4], s[5], s[6]};
    }
    for (size_t i = 0; i < 8; i++)
        state_[i] += s[i];
}

void Sha256::add(const void* data, size_t size) {
    const auto* bytes = static_cast<const uint8_t*>(data);
    total_ += size;
    while (size) {
        if (pendingSize_ == 0 && size >= pending_.size()) {
            block(bytes);
            bytes += pending_.size();
            size -= pending_.size();
            continue;
        }
        const size_t n = std::min(size, pending_.size() - pendingSize_);
        std::memcpy(pending_.data() + pendingSize_, bytes, n);
        pendingSize_ += n;
        bytes += n;
        size -= n;
        if (pendingSize_ == pending_.size()) {
            block(pending_.data());
            pendingSize_ = 0;
        }
    }
}

Sha256::Digest Sha256::finish() {
    const uint64_t bits = total_ * 8;
    const uint8_t one = 0x80;
    const uint8_t zero = 0;
    add(&one, 1);
    while (pendingSize_ != 56)
        add(&zero, 1);
    std::array<uint8_t, 8> length;
    for (size_t i = 0; i < 8; i++)
        length[i] = static_cast<uint8_t>(bits >> (56 - 8 * i));
    add(length.data(), length.size());
    Digest digest;
    for (size_t i = 0; i < digest.size(); i++)
        digest[i] = static_cast<uint8_t>(state_[i / 4] >> (24 - 8 * (i % 4)));
    return digest;
}

Sha256::Digest Sha256::of(const void* bytes, size_t size) {
    Sha256 sha;
    sha.add(bytes, size);
    return sha.finish();
}

std::string Sha256::hex(const Digest& digest) {
    static const char digits[] = "0123456789abcdef";
    std::string text;
    for (uint8_t byte : digest) {
        text += digits[byte >> 4];
        text += digits[byte & 15];
    }
    return text;
}

bool Sha256::selfTest() {
    const std::string none;
    const std::string two = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    const std::string million(1'000'000, 'a');
    if (hex(of(none.data(), 0)) !=
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
        return false;
    if (hex(of("abc", 3)) != "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        return false;
    if (hex(of(two.data(), two.size())) !=
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1")
        return false;
    // In uneven pieces, so that the seams between blocks are met too.
    Sha256 pieces;
    for (size_t at = 0, n = 1; at < million.size(); at += n, n = n % 191 + 1)
        pieces.add(million.data() + at, n = std::min(n, million.size() - at));
    return hex(pieces.finish()) ==
           "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";
}

} // namespace vze::demo
