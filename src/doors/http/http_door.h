#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "authority/authority.h"
#include "base/result.h"
#include "base/time.h"
#include "doors/http/readiness.h"
#include "net/turns.h"

namespace boost::asio {
class io_context;
}
namespace holdfast::keys::controller {
class Controller;
}

namespace holdfast::discovery::directory {
class Directory;
}
namespace prometheus {
class Registry;
}

namespace holdfast::doors::http {

struct HttpDoorOptions {
    std::string address = "127.0.0.1:7400";  ///< HOST:PORT; port 0 for a free one
    std::size_t max_connections = 10'000;
    std::size_t max_buffer_bytes = 256 << 20;  ///< of all connections; above it, the largest are closed
    Duration idle_timeout = 60s;
    Duration read_timeout = 10s;
    Duration write_timeout = 10s;
    std::string version;
    /// Host names that the door accepts, in lower case, besides IP addresses and localhost (origin.h).
    std::vector<std::string> names{};
    bool allow_spawn = false;  ///< also beyond loopback: any client may run commands on drones
    /// The JSON of GET /v1/quorum; empty: no cluster. Called on the io_context's thread.
    std::function<std::string()> quorum_status{};
    /// The JSON of GET /v1/store, and why the store cannot be used at the moment.
    std::function<std::string()> store_status = [] { return std::string(R"({"engine":"memory","reachable":true})"); };
    std::function<const Error*()> store_trouble = [] { return nullptr; };
    /// Why requests cannot be served yet; null once they can. Until then the server only answers health and status
    /// requests.
    std::function<const Error*()> not_yet = [] { return nullptr; };
    /// Any other problem of the server, and numbers for GET /metrics. Either may be empty.
    std::function<std::optional<Trouble>()> own_trouble{};
    std::function<MetricNumbers()> numbers{};
};

/// The components that the door serves.
struct HttpDoorServices {
    authority::Authority& authority;
    keys::controller::Controller& controller;
    discovery::directory::Directory& directory;
};

/// The HTTP door: docs/http-api.md translated to requests of the authority and back. Decides nothing itself.
/// Everything runs on the io_context's one thread, requests in turns of bounded time (turns.h).
class HttpDoor {
 public:
    HttpDoor(boost::asio::io_context& loop, const HttpDoorServices& behind, prometheus::Registry& metrics,
             HttpDoorOptions options, net::DoorTurn turn);
    ~HttpDoor();

    /// Starts to listen. Returns the address bound, as HOST:PORT; error `cannot_listen` has the reason.
    Result<std::string> listen();

    /// Stops accepting, gives responses under way a bounded time to finish, closes the rest, then calls done.
    void stop(std::function<void()> done);

 private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast::doors::http
