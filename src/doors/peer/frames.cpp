#include "doors/peer/frames.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/rand.h>

#include "base/assert.h"

namespace holdfast::doors::peer {
namespace {

const unsigned char* raw(std::string_view bytes) {
    return reinterpret_cast<const unsigned char*>(bytes.data());
}

template <std::size_t size, class Number>
std::array<char, size> big_endian_of(Number number) {
    std::array<char, size> bytes;
    for (std::size_t i = 0; i < size; ++i)
        bytes[i] = static_cast<char>(number >> (8 * (size - 1 - i)) & 0xff);
    return bytes;
}

Hmac::Digest seal_of(Hmac& hmac, std::uint64_t number, std::string_view content) {
    const auto counted = big_endian(number);
    return hmac.of({{counted.data(), counted.size()}, content});
}

}  // namespace

struct Hmac::Impl {
    explicit Impl(std::string_view key) {
        char digest[] = "SHA256";
        const OSSL_PARAM settings[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
                                       OSSL_PARAM_construct_end()};
        EVP_MAC* kind = EVP_MAC_fetch(nullptr, "HMAC", nullptr);
        HOLDFAST_ASSERT(kind != nullptr);
        context = EVP_MAC_CTX_new(kind);
        EVP_MAC_free(kind);
        HOLDFAST_ASSERT(context != nullptr && EVP_MAC_init(context, raw(key), key.size(), settings) == 1);
    }
    ~Impl() { EVP_MAC_CTX_free(context); }
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;

    EVP_MAC_CTX* context;
};

Hmac::Hmac(std::string_view key) : impl_(std::make_unique<Impl>(key)) {}
Hmac::~Hmac() = default;
Hmac::Hmac(Hmac&&) noexcept = default;
Hmac& Hmac::operator=(Hmac&&) noexcept = default;

Hmac::Digest Hmac::of(std::initializer_list<std::string_view> parts) {
    EVP_MAC_CTX* context = impl_->context;
    bool well = EVP_MAC_init(context, nullptr, 0, nullptr) == 1;  // reuses the key
    for (std::string_view part : parts) {
        const auto length = big_endian(std::uint64_t{part.size()});
        well = well && EVP_MAC_update(context, raw({length.data(), length.size()}), length.size()) == 1;
        well = well && EVP_MAC_update(context, raw(part), part.size()) == 1;
    }
    Digest digest;
    std::size_t size = 0;
    well = well && EVP_MAC_final(context, reinterpret_cast<unsigned char*>(digest.data()), &size, digest.size()) == 1;
    HOLDFAST_ASSERT(well && size == bytes);
    return digest;
}

bool equal_secrets(std::string_view a, std::string_view b) {
    return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string random_bytes(std::size_t count) {
    std::string bytes(count, '\0');
    HOLDFAST_ASSERT(RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(count)) == 1);
    return bytes;
}

std::array<char, 4> big_endian(std::uint32_t number) {
    return big_endian_of<4>(number);
}

std::array<char, 8> big_endian(std::uint64_t number) {
    return big_endian_of<8>(number);
}

void Sealer::append(std::string_view content, std::string& out) {
    codec::append_frame_length(content.size() + Hmac::bytes, out);
    out += content;
    out += view(seal_of(hmac_, number_++, content));
}

std::optional<std::string_view> Opener::open(std::string_view body) {
    if (body.size() < Hmac::bytes) return std::nullopt;
    const std::string_view content = body.substr(0, body.size() - Hmac::bytes);
    if (!equal_secrets(view(seal_of(hmac_, number_, content)), body.substr(content.size()))) return std::nullopt;
    ++number_;
    return content;
}

}  // namespace holdfast::doors::peer
