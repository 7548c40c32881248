#include "base/hash.h"

#include <bit>
#include <cstring>

namespace holdfast {
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

}  // namespace

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

}  // namespace holdfast
