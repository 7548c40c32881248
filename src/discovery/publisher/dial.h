#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "client/server_address.h"
#include "discovery/protocol.h"

namespace holdfast::discovery::publisher {

using Socket = boost::asio::ip::tcp::socket;

/// Calls back once, on the loop, with a connection or with the error `unreachable`.
void dial(boost::asio::io_context& loop, const client::ServerAddress& address, Duration timeout,
          std::function<void(Result<Socket>)> done);

/// A stream's connection, with no byte of the stream read yet, or the failure. The code is `unreachable` or `malformed`
/// if it does not come from a relay.
using StreamResult = std::variant<Socket, StreamFailed>;

/// Connects to a relay, sends the first message, StreamRequest or StreamAccept, and waits for StreamOpened.
void dial_stream(boost::asio::io_context& loop, const client::ServerAddress& relay, const Message& first,
                 Duration timeout, std::function<void(StreamResult)> done);

/// Opens a stream to a service by name, through the first relay that is reachable and answers. Follows that relay's
/// redirect if the service is at another one. Calls `on_away` for each relay that was skipped. REQUIRES: at least one
/// relay.
void dial_service(boost::asio::io_context& loop, std::vector<client::ServerAddress> relays, const std::string& name,
                  Duration timeout, std::function<void(StreamResult)> done,
                  std::function<void(const client::ServerAddress&)> on_away = {});

/// Returns a connected, blocking, close-on-exec socket, owned by the caller. Blocks. The error has the code of a
/// StreamFailed, `unreachable` or `malformed`; `cancelled` after a stop. Tries the relays in order until one can be
/// reached.
Result<int> open_service(const std::vector<client::ServerAddress>& relays, const std::string& name, Duration timeout,
                         const std::stop_token& stop = {});

/// The error message for a peer that answers with these bytes where a relay was expected.
std::string not_a_relay(std::string_view first_bytes);

}  // namespace holdfast::discovery::publisher
