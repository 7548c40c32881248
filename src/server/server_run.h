#pragma once

#include <memory>

#include "server/backend.h"
#include "server/logger.h"
#include "server/server.h"

namespace boost::asio {
class io_context;
}

namespace holdfast::server {

/// One run of a server, from restoring its state to saving it.
class ServerRun {
 public:
    struct Parts {
        const ServeOptions& options;
        boost::asio::io_context& loop;
        Backend& backend;
        Logger& log;
    };
    explicit ServerRun(Parts parts);
    ~ServerRun();

    /// Serves until a signal. Returns the exit code.
    int run();

 private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast::server
