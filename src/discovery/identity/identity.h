#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace holdfast::discovery::identity {

inline constexpr std::size_t public_key_bytes = 32;
inline constexpr std::size_t signature_bytes = 64;

/// The id of an Ed25519 public key (D1): 32 characters of lower-case base32. REQUIRES: public_key_bytes.
std::string identity_id(std::string_view public_key);
/// True for text in the form of an id.
bool is_identity_id(std::string_view text);

/// True if the bytes are the canonical encoding of a point on Ed25519's curve that is valid as a public key. Points of
/// small order are not: anybody can forge signatures that verify under them.
bool is_public_key_point(std::string_view bytes);

/// A publisher: an Ed25519 key pair.
class Identity {
 public:
    static Identity generate();
    /// Error `identity_missing`, `identity_exposed` (others may read the file; the message says how to fix that) or
    /// `identity_corrupt`.
    static Result<Identity> load(const std::string& file);
    ~Identity();
    Identity(Identity&&) noexcept;
    Identity& operator=(Identity&&) noexcept;

    /// Writes a file that only its owner can read, atomically. Error `identity_exists`, with the existing file
    /// unchanged, or `identity_not_saved`.
    Result<void> save_new(const std::string& file) const;

    const std::string& id() const;
    const std::string& public_key() const;
    /// Signs the purpose followed by the content.
    std::string sign(std::string_view purpose, std::string_view content) const;

 private:
    struct Impl;
    explicit Identity(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

/// The default path of the identity: HOLDFAST_IDENTITY, or a file in the user's configuration directory.
std::string default_identity_file();

/// Loads the identity from this file, and creates it if it is missing. Errors as in load() and save_new().
struct FoundIdentity {
    Identity identity;
    bool made = false;
};
Result<FoundIdentity> load_or_make_identity(const std::string& file);

/// Verifies signatures by one public key. Parsed once, for a publisher that renews for hours.
class Verifier {
 public:
    /// Nullopt if the bytes are not a public key.
    static std::optional<Verifier> of(std::string_view public_key);
    ~Verifier();
    Verifier(Verifier&&) noexcept;
    Verifier& operator=(Verifier&&) noexcept;

    const std::string& id() const;
    bool verify(std::string_view purpose, std::string_view content, std::string_view signature) const;

 private:
    struct Impl;
    explicit Verifier(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

/// A cache of parsed public keys, for publishers that renew for hours. Keeps two generations: a key that is not used
/// while a generation of others comes in is dropped.
class Verifiers {
 public:
    explicit Verifiers(std::size_t most) : per_generation_(most / 2) {}

    /// Null if the bytes are not a public key. Valid until the next call.
    const Verifier* find(std::string_view public_key);
    std::size_t size() const { return young_.size() + old_.size(); }

 private:
    using Keys = std::map<std::string, Verifier, std::less<>>;

    std::size_t per_generation_;
    Keys young_, old_;
};

inline constexpr std::string_view update_purpose = "holdfast lease update v1\n";

}  // namespace holdfast::discovery::identity
