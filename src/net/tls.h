#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

struct ssl_ctx_st;
struct ssl_st;

namespace holdfast::net {

/// TLS 1.2 and 1.3 on non-blocking sockets (A8). One thread at a time may use a stream; different threads may use
/// different streams of one context.

/// The files of one side. All are PEM. A key must be readable by its owner only.
struct TlsFiles {
    std::string certificate{};  ///< the certificate, followed by its chain; empty for a client without one
    std::string key{};
    std::string ca{};             ///< whom to trust; a server without it asks for no client certificate
    bool demands_client = false;  ///< a server refuses clients without a certificate

    bool operator==(const TlsFiles&) const = default;
};

using TlsContext = std::shared_ptr<ssl_ctx_st>;

/// Error `tls_unusable`, naming the file, if a file is missing, malformed or readable by others, or if the key is not
/// that of the certificate.
Result<TlsContext> tls_server(const TlsFiles& files);
/// Without a `ca`, a client trusts what the system trusts.
Result<TlsContext> tls_client(const TlsFiles& files);

/// Both ends prove that they know one of these secrets, by TLS 1.3 with a pre-shared key and (EC)DHE, so that a secret
/// that leaks later opens no recorded traffic. The first secret is the one that a client offers. `label` separates the
/// key from other uses of the secret. Each secret has at least 16 bytes.
TlsContext tls_shared_secret(std::vector<std::string> secrets, std::string_view label);

/// A context that follows its files. Streams that exist keep the certificate they began with.
class TlsCertificates {
 public:
    static Result<TlsCertificates> load(TlsFiles files);

    const TlsContext& context() const { return context_; }
    /// Reads the files again if one of them changed. Returns whether a new certificate is in force. On an error, which
    /// is reported once for each change, the old one stays.
    Result<bool> refresh();
    /// When the certificate in force ends, in seconds since the epoch. For metrics and warnings.
    std::int64_t expires_at() const;

 private:
    TlsCertificates(TlsFiles files, std::string stamp, TlsContext context)
        : files_(std::move(files)), stamp_(std::move(stamp)), context_(std::move(context)) {}

    TlsFiles files_;
    std::string stamp_;  // of the files as they were read
    TlsContext context_;
};

/// The names that a verified certificate is mapped to principals by (A8).
struct TlsPeerNames {
    std::vector<std::string> uris;
    std::vector<std::string> dns;
};

/// One end of a TLS connection on a connected, non-blocking socket, which the stream does not own.
class TlsStream {
 public:
    static TlsStream accepting(const TlsContext& context, int socket);
    /// Checks that the certificate of the server is for this name or address. An empty name checks only who signed it.
    static TlsStream connecting(const TlsContext& context, int socket, const std::string& server);

    enum class Step : std::uint8_t { done, wants_input, wants_output, failed };
    /// Goes on with the handshake as far as it can. Signing takes about a millisecond of CPU, so servers call this on a
    /// thread of its own (net/tls_handshakes.h).
    Step handshake();
    /// Why the handshake failed, for the log: it may quote the peer.
    const std::string& failure() const { return failure_; }

    /// As Transport::Moved. REQUIRES: the handshake is done.
    struct Moved {
        std::size_t bytes = 0;
        bool ended = false;
        bool broken = false;
    };
    Moved read_some(std::span<char> room);
    Moved write_some(std::string_view bytes);
    /// Tells the peer that nothing more is sent, so that it can tell the end from a cut.
    void end_sending();

    /// Bytes were received that read_some() did not return yet; the socket does not show them.
    bool has_input() const;
    /// Reading needs the socket to take output first, or writing needs input: only while the peer renews its keys.
    bool read_wants_output() const { return read_wants_output_; }
    bool write_wants_input() const { return write_wants_input_; }

    /// Nullopt if the peer showed no certificate.
    std::optional<TlsPeerNames> peer_names() const;
    /// Such as `TLSv1.3`.
    std::string_view version() const;
    bool was_resumed() const;

 private:
    struct Free {
        void operator()(ssl_st* ssl) const;
    };
    TlsStream(const TlsContext& context, int socket);

    std::unique_ptr<ssl_st, Free> ssl_;
    std::string failure_;
    bool read_wants_output_ = false, write_wants_input_ = false;
    bool broken_ = false;
};

/// Whether the first byte that a client sent can begin a TLS connection. A door answers others in plain text.
constexpr bool begins_tls(char first) {
    return first == 0x16;
}

}  // namespace holdfast::net
