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

namespace boost::asio {
class io_context;
}
namespace holdfast::core {
class Controller;
class Directory;
}  // namespace holdfast::core
namespace prometheus {
class Registry;
}

namespace holdfast {

struct HttpDoorOptions {
    std::string address = "127.0.0.1:7400";  ///< HOST:PORT; port 0 for a free one
    std::size_t max_connections = 10'000;
    std::size_t max_buffer_bytes = 256 << 20;  ///< of all connections; beyond, those that have most are closed
    Duration idle_timeout = 60s;
    Duration read_timeout = 10s;
    Duration write_timeout = 10s;
    std::string version;
    /// Names by which it may be called, in lower case, besides IP addresses and localhost (origin.h).
    std::vector<std::string> names{};
    bool allow_spawn = false;  ///< beyond loopback, too: whoever can connect may run commands on drones
    /// The JSON of GET /v1/quorum; none: this server is alone. Called on the io_context's thread.
    std::function<std::string()> quorum_status{};
    /// The JSON of GET /v1/store, and why the store cannot be used at the moment.
    std::function<std::string()> store_status = [] { return std::string(R"({"engine":"memory","reachable":true})"); };
    std::function<const Error*()> store_trouble = [] { return nullptr; };
    /// Why nothing can be asked yet; none once it can. Until then the server only tells how it is.
    std::function<const Error*()> not_yet = [] { return nullptr; };
    /// What else is wrong, if something is; and numbers for GET /metrics. Either may be empty.
    std::function<std::optional<Trouble>()> own_trouble{};
    std::function<MetricNumbers()> numbers{};
};

/// What is behind the door.
struct HttpDoorServices {
    core::Authority& authority;
    core::Controller& controller;
    core::Directory& directory;
};

/// The HTTP door: docs/http-api.md translated to requests of the authority and back. Decides nothing itself.
/// Everything runs on the io_context's one thread.
class HttpDoor {
 public:
    /// `before_request` tells what is behind the door the time; it is called once before each request (T6).
    HttpDoor(boost::asio::io_context& loop, const HttpDoorServices& behind, prometheus::Registry& metrics,
             HttpDoorOptions options, std::function<void()> before_request);
    ~HttpDoor();

    /// Starts to listen. Returns the address bound, as HOST:PORT; error `cannot_listen` says why not.
    Result<std::string> listen();

    /// Accepts nothing more, lets answers under way finish for a moment (bounded), closes the rest, then calls done.
    void stop(std::function<void()> done);

 private:
    struct Impl;
    std::shared_ptr<Impl> impl_;
};

}  // namespace holdfast
