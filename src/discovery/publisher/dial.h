#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "client/server_address.h"
#include "discovery/protocol.h"

namespace holdfast::discovery {

using Socket = boost::asio::ip::tcp::socket;

/// Calls back once with a connection, or with the error `unreachable`, from the loop.
void dial(boost::asio::io_context& loop, const ServerAddress& address, Duration timeout,
          std::function<void(Result<Socket>)> done);

/// A stream's connection, from which not a byte of the stream was read, or why there is none. Where no relay has said
/// why, the code is `unreachable` or `malformed`.
using StreamResult = std::variant<Socket, StreamFailed>;

/// Connects to a relay, says the first message, StreamRequest or StreamAccept, and waits for StreamOpened.
void dial_stream(boost::asio::io_context& loop, const ServerAddress& relay, const Message& first, Duration timeout,
                 std::function<void(StreamResult)> done);

/// Asks for a service by its name: the first of the relays that can be reached and answers, and the relay that it is
/// said to be at if that is another. Tells of each relay that was left for the next. REQUIRES: at least one relay.
void dial_service(boost::asio::io_context& loop, std::vector<ServerAddress> relays, const std::string& name,
                  Duration timeout, std::function<void(StreamResult)> done,
                  std::function<void(const ServerAddress&)> on_away = {});

/// What to say of somebody who answers with these bytes where a relay was expected.
std::string not_a_relay(std::string_view first_bytes);

}  // namespace holdfast::discovery
