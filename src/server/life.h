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

namespace holdfast {

/// One life of a server, from the state it found to the state it leaves.
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

    /// Something came from elsewhere that is no request.
    void tick();

 private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast
