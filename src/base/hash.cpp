#include "base/hash.h"

#include <bit>
#include <cstring>

namespace holdfast::inline base {
namespace {

struct Sip {
    std::uint64_t v0, v1, v2, v3;

    explicit Sip(HashKey key)
        : v0(key.first ^ 0x736f6d6570736575),
          v1(key.second ^ 0x646f72616e646f6d),
          v2(key.first ^ 0x6c7967656e657261),
          v3(key.second ^ 0x7465646279746573) {}

    void round() {
        v0 += v1;
        v1 = std::rotl(v1, 13) ^ v0;
        v0 = std::rotl(v0, 32);
        v2 += v3;
        v3 = std::rotl(v3, 16) ^ v2;
        v0 += v3;
        v3 = std::rotl(v3, 21) ^ v0;
        v2 += v1;
        v1 = std::rotl(v1, 17) ^ v2;
        v2 = std::rotl(v2, 32);
    }

    void absorb(std::uint64_t word) {
        v3 ^= word;
        round();
        v0 ^= word;
    }

    std::uint64_t finish() {
        v2 ^= 0xff;
        round();
        round();
        round();
        return v0 ^ v1 ^ v2 ^ v3;
    }
};

/// Combines both halves of the product, so that every bit depends on all bits of both factors.
std::uint64_t folded_product(std::uint64_t a, std::uint64_t b) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

template <class Word>
std::uint64_t read(const char* at) {
    Word word;
    std::memcpy(&word, at, sizeof word);
    return word;
}

}  // namespace

std::uint64_t hash_place(HashKey key, std::string_view text) {
    const char* at = text.data();
    const char* const end = at + text.size();
    const std::uint64_t secret = key.second ^ 0xa076'1d64'78bd'642f;  // makes weak keys, as in tests, usable
    std::uint64_t state = key.first ^ 0xe703'7ed1'a0b4'28db ^ text.size();
    for (; end - at > 16; at += 16)
        state = folded_product(read<std::uint64_t>(at) ^ secret, read<std::uint64_t>(at + 8) ^ state);
    // The last sixteen bytes, some of them for the second time, or all bytes of a shorter text.
    std::uint64_t first = 0, last = 0;
    if (text.size() >= 16) {
        first = read<std::uint64_t>(end - 16);
        last = read<std::uint64_t>(end - 8);
    } else if (text.size() >= 8) {
        first = read<std::uint64_t>(at);
        last = read<std::uint64_t>(end - 8);
    } else if (text.size() >= 4) {
        first = read<std::uint32_t>(at);
        last = read<std::uint32_t>(end - 4);
    } else {
        for (; at != end; ++at)
            first = first << 8 | static_cast<unsigned char>(*at);
    }
    state = folded_product(first ^ secret, last ^ state);
    return folded_product(state ^ key.first, 0x9e37'79b9'7f4a'7c15 ^ secret);
}

std::uint64_t hash_text(HashKey key, std::string_view text) {
    Sip sip{key};
    const char* at = text.data();
    std::size_t left = text.size();
    for (; left >= 8; at += 8, left -= 8) {
        std::uint64_t word;
        std::memcpy(&word, at, 8);
        sip.absorb(word);
    }
    std::uint64_t last = static_cast<std::uint64_t>(text.size()) << 56;
    for (std::size_t i = 0; i < left; ++i)
        last |= static_cast<std::uint64_t>(static_cast<unsigned char>(at[i])) << (8 * i);
    sip.absorb(last);
    return sip.finish();
}

}  // namespace holdfast::inline base
