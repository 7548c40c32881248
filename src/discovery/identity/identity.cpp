#include "discovery/identity/identity.h"

#include <algorithm>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/assert.h"
#include "base/encodings.h"
#include "discovery/identity/curve_point.h"
#include "discovery/identity/key.h"

namespace holdfast {
namespace {

constexpr std::string_view id_purpose = "holdfast identity v1";
constexpr std::size_t id_hash_bytes = 20;
constexpr std::size_t id_characters = 32;

const unsigned char* raw(std::string_view bytes) {
    return reinterpret_cast<const unsigned char*>(bytes.data());
}
unsigned char* raw(std::string& bytes) {
    return reinterpret_cast<unsigned char*>(bytes.data());
}

struct FreeContext {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
using Context = std::unique_ptr<EVP_MD_CTX, FreeContext>;

/// Ed25519 takes its message whole.
std::string joined(std::string_view purpose, std::string_view content) {
    std::string message;
    message.reserve(purpose.size() + content.size());
    message += purpose;
    message += content;
    return message;
}

}  // namespace

std::string identity_id(std::string_view public_key) {
    HOLDFAST_ASSERT(public_key.size() == public_key_bytes);
    std::array<char, EVP_MAX_MD_SIZE> hash;
    unsigned int size = 0;
    const auto* made = HMAC(EVP_sha256(), id_purpose.data(), static_cast<int>(id_purpose.size()), raw(public_key),
                            public_key.size(), reinterpret_cast<unsigned char*>(hash.data()), &size);
    HOLDFAST_ASSERT(made != nullptr && size >= id_hash_bytes);
    return to_base32({hash.data(), id_hash_bytes});
}

bool is_identity_id(std::string_view text) {
    return text.size() == id_characters &&
           std::ranges::all_of(text, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '2' && c <= '7'); });
}

struct Identity::Impl {
    explicit Impl(Key its_key) : key(std::move(its_key)), public_key(public_key_bytes, '\0') {
        std::size_t size = public_key.size();
        HOLDFAST_ASSERT(EVP_PKEY_get_raw_public_key(key.get(), raw(public_key), &size) == 1);
        HOLDFAST_ASSERT(size == public_key_bytes);
        id = identity_id(public_key);
    }

    Key key;
    std::string public_key;
    std::string id;
};

Identity::Identity(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Identity::~Identity() = default;
Identity::Identity(Identity&&) noexcept = default;
Identity& Identity::operator=(Identity&&) noexcept = default;

Identity Identity::generate() {
    Key key{EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519")};
    HOLDFAST_ASSERT(key != nullptr);
    return Identity{std::make_unique<Impl>(std::move(key))};
}

Result<Identity> Identity::load(const std::string& file) {
    auto key = load_key(file);
    if (!key) return key.error();
    return Identity{std::make_unique<Impl>(std::move(*key))};
}

Result<void> Identity::save_new(const std::string& file) const {
    return save_new_key(*impl_->key, file);
}

const std::string& Identity::id() const {
    return impl_->id;
}

const std::string& Identity::public_key() const {
    return impl_->public_key;
}

std::string Identity::sign(std::string_view purpose, std::string_view content) const {
    const std::string message = joined(purpose, content);
    std::string signature(signature_bytes, '\0');
    std::size_t size = signature.size();
    const Context context{EVP_MD_CTX_new()};
    HOLDFAST_ASSERT(context != nullptr);
    HOLDFAST_ASSERT(EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, impl_->key.get()) == 1);
    HOLDFAST_ASSERT(
        EVP_DigestSign(context.get(), raw(signature), &size, raw(std::string_view(message)), message.size()) == 1);
    HOLDFAST_ASSERT(size == signature_bytes);
    return signature;
}

struct Verifier::Impl {
    Key key;
    std::string id;
};

Verifier::Verifier(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Verifier::~Verifier() = default;
Verifier::Verifier(Verifier&&) noexcept = default;
Verifier& Verifier::operator=(Verifier&&) noexcept = default;

std::optional<Verifier> Verifier::of(std::string_view public_key) {
    if (!is_public_key_point(public_key)) return std::nullopt;
    Key key{EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, raw(public_key), public_key.size())};
    if (!key) return std::nullopt;
    return Verifier{std::make_unique<Impl>(Impl{std::move(key), identity_id(public_key)})};
}

const std::string& Verifier::id() const {
    return impl_->id;
}

bool Verifier::verify(std::string_view purpose, std::string_view content, std::string_view signature) const {
    if (signature.size() != signature_bytes) return false;
    const std::string message = joined(purpose, content);
    const Context context{EVP_MD_CTX_new()};
    HOLDFAST_ASSERT(context != nullptr);
    HOLDFAST_ASSERT(EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, impl_->key.get()) == 1);
    return EVP_DigestVerify(context.get(), raw(signature), signature.size(), raw(std::string_view(message)),
                            message.size()) == 1;
}

}  // namespace holdfast
