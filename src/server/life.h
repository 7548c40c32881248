#pragma once

#include <memory>
#include <optional>
#include <string>

#include "server/home.h"
#include "server/logger.h"
#include "server/server.h"

namespace boost::asio {
class io_context;
}

namespace holdfast::server {

/// One run of a server, from restoring its state to saving it.
class Life {
 public:
    struct Parts {
        const ServeOptions& options;
        boost::asio::io_context& loop;
        Home& home;
        Logger& log;
        Instant started_at;
    };
    explicit Life(Parts parts);
    ~Life();

    /// Serves until a signal. Returns the exit code.
    int run();

    /// Called after an event that is not a request, such as a completed disk write.
    void tick();

 private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast::server
