#include "discovery/identity/identity.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <pwd.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "base/assert.h"
#include "base/encodings.h"
#include "base/fd.h"
#include "base/random.h"
#include "base/result.h"

namespace holdfast::discovery::identity {
namespace {

struct FreeKey {
    void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
using Key = std::unique_ptr<EVP_PKEY, FreeKey>;

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

/// Ed25519 takes the whole message at once.
std::string joined(std::string_view purpose, std::string_view content) {
    std::string message;
    message.reserve(purpose.size() + content.size());
    message += purpose;
    message += content;
    return message;
}

// ---- key files ----

constexpr std::size_t max_file_bytes = 16 * 1024;

struct FreeBio {
    void operator()(BIO* bio) const { BIO_free(bio); }
};
using Bio = std::unique_ptr<BIO, FreeBio>;

/// Wiped on destruction.
struct Secret {
    ~Secret() { OPENSSL_cleanse(text.data(), text.size()); }
    std::string text{};
};

Error corrupt(const std::string& file, const std::string& why) {
    return {Code::identity_corrupt, fmt::format("{} is not an identity: {}", file, why)};
}

Error not_saved(const std::string& file, int error) {
    return {Code::identity_not_saved,
            fmt::format("the identity cannot be written to {}: {}", file, std::strerror(error))};
}

Result<void> check_owner_only(int fd, const std::string& file) {
    struct stat about {};
    if (::fstat(fd, &about) != 0 || !S_ISREG(about.st_mode)) return corrupt(file, "it is not a file");
    if ((about.st_mode & (S_IRWXG | S_IRWXO)) != 0)
        return Error{Code::identity_exposed,
                     fmt::format("others than its owner can use {0}, and with it this identity; "
                                 "`chmod 600 {0}` fixes that, if nobody has read it",
                                 file)};
    return {};
}

Result<void> read_all(int fd, const std::string& file, std::string& text) {
    text.resize(max_file_bytes + 1);
    std::size_t have = 0;
    while (have < text.size()) {
        const ssize_t got = ::read(fd, text.data() + have, text.size() - have);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return corrupt(file, std::strerror(errno));
        if (got == 0) break;
        have += static_cast<std::size_t>(got);
    }
    text.resize(have);
    if (have > max_file_bytes) return corrupt(file, "it is too large");
    return {};
}

/// Never prompts for the password of an encrypted key.
int no_password(char*, int, int, void*) {
    return -1;
}

Result<void> write_durably(const std::string& path, std::string_view text) {
    const Fd file = open_file(path, O_WRONLY | O_CREAT | O_EXCL);
    if (!file || !write_all(file.get(), text) || ::fsync(file.get()) != 0) return not_saved(path, errno);
    return {};
}

/// Renames the new file unless the name exists, and makes that durable.
Result<void> put_in_place(const std::string& fresh, const std::filesystem::path& file) {
    if (::link(fresh.c_str(), file.c_str()) != 0) {
        const int error = errno;
        if (error == EEXIST)
            return Error{Code::identity_exists, file.string() + " is there already, and was left as it is"};
        return not_saved(file, error);
    }
    const Fd directory =
        open_file(file.parent_path().empty() ? "." : file.parent_path().string(), O_RDONLY | O_DIRECTORY);
    if (!directory || ::fsync(directory.get()) != 0) return not_saved(file, errno);
    return {};
}

void make_directories(const std::filesystem::path& directory) {
    if (directory.empty() || std::filesystem::exists(directory)) return;
    make_directories(directory.parent_path());
    ::mkdir(directory.c_str(), 0700);  // a failure shows when the file is written
}

/// A key file is PEM, PKCS #8, as `openssl genpkey -algorithm ed25519` writes it too. Errors as in Identity.
Result<Key> load_key(const std::string& file) {
    const Fd opened = open_file(file, O_RDONLY | O_NONBLOCK);
    if (!opened && errno == ENOENT)
        return Error{Code::identity_missing,
                     fmt::format("there is no identity in {}; `holdfast identity new` makes one", file)};
    if (!opened) return corrupt(file, std::strerror(errno));
    if (auto checked = check_owner_only(opened.get(), file); !checked) return checked.error();
    Secret secret;
    if (auto read = read_all(opened.get(), file, secret.text); !read) return read.error();
    const Bio bio{BIO_new_mem_buf(secret.text.data(), static_cast<int>(secret.text.size()))};
    Key key{bio ? PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr) : nullptr};
    ERR_clear_error();
    if (!key) return corrupt(file, "no private key in PEM, without a password");
    if (EVP_PKEY_get_base_id(key.get()) != EVP_PKEY_ED25519) return corrupt(file, "the key is not of Ed25519");
    return key;
}

Result<void> save_new_key(EVP_PKEY& key, const std::string& file) {
    const Bio bio{BIO_new(BIO_s_mem())};
    char* text = nullptr;
    HOLDFAST_ASSERT(bio && PEM_write_bio_PKCS8PrivateKey(bio.get(), &key, nullptr, nullptr, 0, nullptr, nullptr) == 1);
    const long size = BIO_get_mem_data(bio.get(), &text);
    const std::filesystem::path path{file};
    make_directories(path.parent_path());
    const std::string fresh = file + "." + random_hex(8);
    auto saved = write_durably(fresh, {text, static_cast<std::size_t>(size)});
    if (saved) saved = put_in_place(fresh, path);
    ::unlink(fresh.c_str());
    return saved;
}

std::string home() {
    if (const char* given = std::getenv("HOME"); given != nullptr && *given != '\0') return given;
    const passwd* user = ::getpwuid(::getuid());
    return user != nullptr && user->pw_dir != nullptr ? user->pw_dir : "/";
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

const Verifier* Verifiers::find(std::string_view public_key) {
    if (const auto known = young_.find(public_key); known != young_.end()) return &known->second;
    if (young_.size() >= per_generation_) old_ = std::exchange(young_, Keys{});
    if (auto kept = old_.extract(std::string(public_key))) return &young_.insert(std::move(kept)).position->second;
    auto verifier = Verifier::of(public_key);
    if (!verifier) return nullptr;
    return &young_.emplace(std::string(public_key), std::move(*verifier)).first->second;
}

std::string default_identity_file() {
    if (const char* given = std::getenv("HOLDFAST_IDENTITY"); given != nullptr && *given != '\0') return given;
    const char* configured = std::getenv("XDG_CONFIG_HOME");
    const std::string directory = configured != nullptr && *configured != '\0' ? configured : home() + "/.config";
    return directory + "/holdfast/identity.pem";
}

Result<FoundIdentity> load_or_make_identity(const std::string& file) {
    auto loaded = Identity::load(file);
    if (loaded) return FoundIdentity{std::move(*loaded)};
    if (loaded.error().code != Code::identity_missing) return loaded.error();
    Identity fresh = Identity::generate();
    const auto saved = fresh.save_new(file);
    if (saved) return FoundIdentity{std::move(fresh), true};
    if (saved.error().code != Code::identity_exists) return saved.error();
    auto of_another = Identity::load(file);  // another process was faster
    if (!of_another) return of_another.error();
    return FoundIdentity{std::move(*of_another)};
}

}  // namespace holdfast::discovery::identity
