#pragma once

#include <cstdint>
#include <memory>

#include "base/time.h"

namespace holdfast {

/// Stands between clients and a server on loopback, on a thread of its own, and makes life hard for both.
class TcpProxy {
 public:
    explicit TcpProxy(std::uint16_t server);
    ~TcpProxy();
    TcpProxy(const TcpProxy&) = delete;
    TcpProxy& operator=(const TcpProxy&) = delete;

    std::uint16_t port() const;

    /// What the server says comes so much later.
    void delay_answers(Duration delay);
    /// What the server says from now on is lost, on connections that are open now.
    void lose_answers();
    /// Closes all connections; new ones are closed at once until they are allowed again.
    void cut();
    void allow();

    /// Bytes that the server has sent, lost ones included.
    std::uint64_t answered_bytes() const;
    /// How often the clients were heard after the server was: the round trips, if there is one connection.
    std::uint64_t turns() const;

 private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast
