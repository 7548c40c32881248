#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "codec/resp/resp_value.h"
#include "peer.h"

namespace holdfast::bench {

/// A connection to a server on loopback that speaks the protocol of Redis, used by one thread. Answers come in the
/// order of the commands. While it sends it reads, too, so that no side waits for the other to read. Throws
/// std::runtime_error when the connection is lost; it is of no use then.
class RespLink {
 public:
    RespLink(std::uint16_t port, Moment until);
    ~RespLink();
    RespLink(const RespLink&) = delete;
    RespLink& operator=(const RespLink&) = delete;

    /// Sends commands (resp::write_command). Throws, too, if they are not on their way by then.
    void send(std::string_view commands, Moment until);
    /// The next answer or push; nothing if it is not all there by then. Looks at least once.
    std::optional<codec::resp::Value> receive(Moment until);
    /// True if the server has closed it: what is sent now is lost.
    bool is_closed();

 private:
    bool wait(short events, Moment until);
    void read_some();

    int fd_;
    std::string in_;
    std::size_t used_ = 0;
    codec::resp::ValueReader reader_;
};

}  // namespace holdfast::bench
