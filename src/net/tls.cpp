#include "net/tls.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>
#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/encodings.h"
#include "base/text.h"

namespace holdfast::net {
namespace {

// ---- the socket under a stream ----
//
// OpenSSL's own BIO for sockets calls write(), which raises SIGPIPE if the peer is gone. A library must not change the
// disposition of signals in the program that uses it.

int fd_of(BIO* bio) {
    return static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio)));
}

bool is_only_later() {
    return errno == EAGAIN || errno == EINTR;
}

int bio_read(BIO* bio, char* bytes, int size) {
    BIO_clear_retry_flags(bio);
    const ssize_t got = ::recv(fd_of(bio), bytes, static_cast<std::size_t>(size), 0);
    if (got < 0 && is_only_later()) BIO_set_retry_read(bio);
    if (got == 0) BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
    return static_cast<int>(got);
}

int bio_write(BIO* bio, const char* bytes, int size) {
    BIO_clear_retry_flags(bio);
    const ssize_t took = ::send(fd_of(bio), bytes, static_cast<std::size_t>(size), MSG_NOSIGNAL);
    if (took < 0 && is_only_later()) BIO_set_retry_write(bio);
    return static_cast<int>(took);
}

long bio_control(BIO* bio, int command, long /*number*/, void* /*pointer*/) {
    if (command == BIO_CTRL_FLUSH) return 1;
    return command == BIO_CTRL_EOF && BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0 ? 1 : 0;
}

BIO_METHOD* socket_method() {
    static BIO_METHOD* const method = [] {
        BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket without SIGPIPE");
        BIO_meth_set_read(made, &bio_read);
        BIO_meth_set_write(made, &bio_write);
        BIO_meth_set_ctrl(made, &bio_control);
        return made;
    }();
    return method;
}

// ---- what went wrong ----

/// The reason of the first error in this thread's queue, which is then empty.
std::string take_reason(std::string_view otherwise) {
    const unsigned long first = ERR_get_error();
    ERR_clear_error();
    const char* reason = first == 0 ? nullptr : ERR_reason_error_string(first);
    return reason == nullptr ? std::string(otherwise) : std::string(reason);
}

Error unusable(std::string message) {
    return {Code::tls_unusable, std::move(message)};
}

// ---- contexts ----

/// OpenSSL resumes only sessions of the same application.
constexpr std::array<unsigned char, 8> application{'h', 'o', 'l', 'd', 'f', 'a', 's', 't'};

TlsContext make_context(const SSL_METHOD* method) {
    TlsContext context(SSL_CTX_new(method), &SSL_CTX_free);
    HOLDFAST_ASSERT(context);
    SSL_CTX* const raw = context.get();
    SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION);
    // Only what has forward secrecy and authenticated encryption. TLS 1.3 has nothing else.
    SSL_CTX_set_cipher_list(raw, "ECDHE+AESGCM:ECDHE+CHACHA20");
    // Many clients close without saying so. Every protocol above marks where its messages end.
    SSL_CTX_set_options(raw, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_IGNORE_UNEXPECTED_EOF);
    // Buffers are given back while a connection is idle: they are 34 KiB.
    SSL_CTX_set_mode(raw, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                              SSL_MODE_RELEASE_BUFFERS | SSL_MODE_AUTO_RETRY);
    SSL_CTX_set_read_ahead(raw, 1);  // else each record takes two reads
    SSL_CTX_set_session_id_context(raw, application.data(), application.size());
    return context;
}

Result<void> check_file(const std::string& path, bool is_secret) {
    struct stat found {};
    if (::stat(path.c_str(), &found) != 0)
        return unusable(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
    if (is_secret && (found.st_mode & (S_IRWXG | S_IRWXO)) != 0)
        return unusable(fmt::format("{} can be read by other users; run: chmod 600 {}", path, path));
    return {};
}

Result<void> use_certificate(SSL_CTX* context, const TlsFiles& files) {
    if (auto readable = check_file(files.certificate, false); !readable) return readable;
    if (auto readable = check_file(files.key, true); !readable) return readable;
    ERR_clear_error();
    if (SSL_CTX_use_certificate_chain_file(context, files.certificate.c_str()) != 1)
        return unusable(
            fmt::format("{} is not a certificate in PEM: {}", files.certificate, take_reason("it has none")));
    if (SSL_CTX_use_PrivateKey_file(context, files.key.c_str(), SSL_FILETYPE_PEM) != 1) {
        const std::string reason = take_reason("it has none");
        return unusable(
            reason == "key values mismatch" || reason == "key type mismatch"
                ? fmt::format("the key in {} is not that of the certificate in {}", files.key, files.certificate)
                : fmt::format("{} is not an unencrypted key in PEM: {}", files.key, reason));
    }
    return {};
}

Result<void> trust(SSL_CTX* context, const std::string& ca) {
    if (auto readable = check_file(ca, false); !readable) return readable;
    ERR_clear_error();
    if (SSL_CTX_load_verify_file(context, ca.c_str()) != 1)
        return unusable(fmt::format("{} has no certificates in PEM: {}", ca, take_reason("it is empty")));
    return {};
}

std::int64_t seconds_of(const ASN1_TIME* time) {
    std::tm parts{};
    return time != nullptr && ASN1_TIME_to_tm(time, &parts) == 1 ? static_cast<std::int64_t>(::timegm(&parts)) : 0;
}

/// Changes when one of the files does.
std::string stamp_of(const TlsFiles& files) {
    std::string stamp;
    for (const std::string& path : {files.certificate, files.key, files.ca}) {
        struct stat found {};
        if (!path.empty() && ::stat(path.c_str(), &found) == 0)
            stamp += fmt::format("{}.{}.{}.{}.{};", found.st_mtim.tv_sec, found.st_mtim.tv_nsec, found.st_ino,
                                 found.st_size, found.st_mode);
        else
            stamp += "-;";
    }
    return stamp;
}

// ---- pre-shared keys ----

struct SharedKey {
    std::string identity;  // shows which secret is meant, and nothing about it
    std::array<unsigned char, 32> key;
};
using SharedKeys = std::vector<SharedKey>;

void free_keys(void* /*parent*/, void* keys, CRYPTO_EX_DATA* /*data*/, int /*index*/, long /*number*/,
               void* /*pointer*/) {
    delete static_cast<SharedKeys*>(keys);
}

int keys_index() {
    static const int index = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, &free_keys);
    return index;
}

const SharedKeys& keys_of(SSL* ssl) {
    return *static_cast<const SharedKeys*>(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), keys_index()));
}

std::array<unsigned char, 32> derived(const std::string& secret, const std::string& purpose) {
    std::array<unsigned char, 32> out{};
    unsigned int size = 0;
    const auto* made = HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
                            reinterpret_cast<const unsigned char*>(purpose.data()), purpose.size(), out.data(), &size);
    HOLDFAST_ASSERT(made != nullptr && size == out.size());
    return out;
}

SSL_SESSION* session_of(SSL* ssl, const SharedKey& shared) {
    constexpr std::array<unsigned char, 2> aes_128_gcm_sha256{0x13, 0x01};
    SSL_SESSION* session = SSL_SESSION_new();
    const SSL_CIPHER* cipher = SSL_CIPHER_find(ssl, aes_128_gcm_sha256.data());
    const bool made = session != nullptr && cipher != nullptr &&
                      SSL_SESSION_set1_master_key(session, shared.key.data(), shared.key.size()) == 1 &&
                      SSL_SESSION_set_cipher(session, cipher) == 1 &&
                      SSL_SESSION_set1_id_context(session, application.data(), application.size()) == 1 &&
                      SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) == 1;
    HOLDFAST_ASSERT(made);
    return session;
}

int offer_key(SSL* ssl, const EVP_MD* /*digest*/, const unsigned char** identity, std::size_t* size,
              SSL_SESSION** session) {
    const SharedKey& first = keys_of(ssl).front();
    *identity = reinterpret_cast<const unsigned char*>(first.identity.data());
    *size = first.identity.size();
    *session = session_of(ssl, first);
    return 1;
}

/// An unknown identity is not an error here: without a key and without a certificate the handshake fails.
int find_key(SSL* ssl, const unsigned char* identity, std::size_t size, SSL_SESSION** session) {
    const std::string_view wanted(reinterpret_cast<const char*>(identity), size);
    *session = nullptr;
    for (const SharedKey& shared : keys_of(ssl))
        if (shared.identity == wanted) *session = session_of(ssl, shared);
    return 1;
}

// ---- names in a certificate ----

TlsPeerNames names_in(X509* certificate) {
    TlsPeerNames names;
    auto* found = static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
    for (int i = 0; i < sk_GENERAL_NAME_num(found); ++i) {
        int kind = 0;
        const auto* value =
            static_cast<const ASN1_STRING*>(GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(found, i), &kind));
        if (kind != GEN_URI && kind != GEN_DNS) continue;
        std::string text(reinterpret_cast<const char*>(ASN1_STRING_get0_data(value)),
                         static_cast<std::size_t>(ASN1_STRING_length(value)));
        // A NUL inside a name would hide the rest of it from other programs.
        if (text.find('\0') != std::string::npos) continue;
        (kind == GEN_URI ? names.uris : names.dns).push_back(std::move(text));
    }
    GENERAL_NAMES_free(found);
    return names;
}

}  // namespace

// ---- contexts ----

Result<TlsContext> tls_server(const TlsFiles& files) {
    TlsContext context = make_context(TLS_server_method());
    if (auto used = use_certificate(context.get(), files); !used) return used.error();
    if (!files.ca.empty()) {
        if (auto trusted = trust(context.get(), files.ca); !trusted) return trusted.error();
        SSL_CTX_set_client_CA_list(context.get(), SSL_load_client_CA_file(files.ca.c_str()));
        SSL_CTX_set_verify(context.get(),
                           SSL_VERIFY_PEER | (files.demands_client ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0), nullptr);
    }
    return context;
}

Result<TlsContext> tls_client(const TlsFiles& files) {
    TlsContext context = make_context(TLS_client_method());
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
    if (!files.ca.empty()) {
        if (auto trusted = trust(context.get(), files.ca); !trusted) return trusted.error();
    } else {
        SSL_CTX_set_default_verify_paths(context.get());
    }
    if (!files.certificate.empty())
        if (auto used = use_certificate(context.get(), files); !used) return used.error();
    return context;
}

TlsContext tls_shared_secret(std::vector<std::string> secrets, std::string_view label) {
    HOLDFAST_ASSERT(!secrets.empty());
    TlsContext context = make_context(TLS_method());
    SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION);
    SSL_CTX_set_ciphersuites(context.get(), "TLS_AES_128_GCM_SHA256");  // its hash is that of the keys
    SSL_CTX_set_num_tickets(context.get(), 0);
    // A peer without the secret could offer a certificate instead. None is trusted.
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
    auto keys = std::make_unique<SharedKeys>();
    for (const std::string& secret : secrets) {
        const auto identity = derived(secret, fmt::format("{} identity", label));
        keys->push_back({to_hex({reinterpret_cast<const char*>(identity.data()), 8}),
                         derived(secret, fmt::format("{} key", label))});
    }
    SSL_CTX_set_ex_data(context.get(), keys_index(), keys.release());
    SSL_CTX_set_psk_use_session_callback(context.get(), &offer_key);
    SSL_CTX_set_psk_find_session_callback(context.get(), &find_key);
    return context;
}

Result<TlsCertificates> TlsCertificates::load(TlsFiles files) {
    std::string stamp = stamp_of(files);
    auto context = tls_server(files);
    if (!context) return context.error();
    return TlsCertificates(std::move(files), std::move(stamp), std::move(*context));
}

Result<bool> TlsCertificates::refresh() {
    std::string stamp = stamp_of(files_);
    if (stamp == stamp_) return false;
    stamp_ = std::move(stamp);
    auto context = tls_server(files_);
    if (!context) return context.error();
    context_ = std::move(*context);
    return true;
}

std::int64_t TlsCertificates::expires_at() const {
    const X509* certificate = SSL_CTX_get0_certificate(context_.get());
    return certificate == nullptr ? 0 : seconds_of(X509_get0_notAfter(certificate));
}

// ---- streams ----

void TlsStream::Free::operator()(ssl_st* ssl) const {
    SSL_free(ssl);
}

TlsStream::TlsStream(const TlsContext& context, int socket) : ssl_(SSL_new(context.get())) {
    BIO* const bio = BIO_new(socket_method());
    HOLDFAST_ASSERT(ssl_ && bio != nullptr);
    BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(socket)));
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl_.get(), bio, bio);
}

TlsStream TlsStream::accepting(const TlsContext& context, int socket) {
    TlsStream stream(context, socket);
    SSL_set_accept_state(stream.ssl_.get());
    return stream;
}

TlsStream TlsStream::connecting(const TlsContext& context, int socket, const std::string& server) {
    TlsStream stream(context, socket);
    SSL* const ssl = stream.ssl_.get();
    SSL_set_connect_state(ssl);
    if (server.empty()) return stream;
    if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), server.c_str()) != 1) {
        ERR_clear_error();
        SSL_set_tlsext_host_name(ssl, server.c_str());
        SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
        SSL_set1_host(ssl, server.c_str());
    }
    return stream;
}

TlsStream::Step TlsStream::handshake() {
    ERR_clear_error();
    errno = 0;
    const int done = SSL_do_handshake(ssl_.get());
    if (done == 1) return Step::done;
    const int system = errno;
    switch (SSL_get_error(ssl_.get(), done)) {
        case SSL_ERROR_WANT_READ:
            return Step::wants_input;
        case SSL_ERROR_WANT_WRITE:
            return Step::wants_output;
        default:
            break;
    }
    const long verified = SSL_get_verify_result(ssl_.get());
    std::string reason = take_reason(system == 0 ? "the peer closed the connection" : std::strerror(system));
    if (verified != X509_V_OK) reason = fmt::format("{}: {}", reason, X509_verify_cert_error_string(verified));
    failure_ = std::move(reason);
    broken_ = true;
    return Step::failed;
}

TlsStream::Moved TlsStream::read_some(std::span<char> room) {
    Moved moved;
    read_wants_output_ = false;
    while (!broken_ && moved.bytes < room.size()) {
        ERR_clear_error();
        std::size_t got = 0;
        const int done = SSL_read_ex(ssl_.get(), room.data() + moved.bytes, room.size() - moved.bytes, &got);
        if (done == 1) {
            moved.bytes += got;
            if (SSL_has_pending(ssl_.get()) == 0) break;
            continue;
        }
        const int error = SSL_get_error(ssl_.get(), done);
        if (error == SSL_ERROR_WANT_READ) break;
        if (error == SSL_ERROR_WANT_WRITE) {
            read_wants_output_ = true;
            break;
        }
        moved.ended = error == SSL_ERROR_ZERO_RETURN;
        broken_ = moved.broken = !moved.ended;
        break;
    }
    ERR_clear_error();
    moved.broken = moved.broken || broken_;
    return moved;
}

TlsStream::Moved TlsStream::write_some(std::string_view bytes) {
    Moved moved;
    write_wants_input_ = false;
    while (!broken_ && moved.bytes < bytes.size()) {
        ERR_clear_error();
        std::size_t took = 0;
        const int done = SSL_write_ex(ssl_.get(), bytes.data() + moved.bytes, bytes.size() - moved.bytes, &took);
        if (done == 1) {
            moved.bytes += took;
            continue;
        }
        const int error = SSL_get_error(ssl_.get(), done);
        if (error == SSL_ERROR_WANT_WRITE) break;
        if (error == SSL_ERROR_WANT_READ) {
            write_wants_input_ = true;
            break;
        }
        broken_ = true;
    }
    ERR_clear_error();
    moved.broken = broken_;
    return moved;
}

void TlsStream::end_sending() {
    if (!broken_) SSL_shutdown(ssl_.get());
    ERR_clear_error();
}

bool TlsStream::has_input() const {
    return SSL_has_pending(ssl_.get()) != 0;
}

std::optional<TlsPeerNames> TlsStream::peer_names() const {
    X509* const certificate = SSL_get0_peer_certificate(ssl_.get());
    if (certificate == nullptr || SSL_get_verify_result(ssl_.get()) != X509_V_OK) return std::nullopt;
    return names_in(certificate);
}

std::string_view TlsStream::version() const {
    return SSL_get_version(ssl_.get());
}

bool TlsStream::was_resumed() const {
    return SSL_session_reused(ssl_.get()) == 1;
}

}  // namespace holdfast::net
