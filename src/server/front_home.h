#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "server/home.h"
#include "server/logger.h"

namespace boost::asio {
class io_context;
}

namespace holdfast::server {

/// The home of a server that stores no leases itself: a front, one of many equal ones, of an engine.
class FrontHome : public Home {
 public:
    struct Settings {
        std::string url;
        std::string state_dir;   ///< holds the file with the front's memory; empty: under the user's state home
        bool new_store = false;  ///< the engine, if it is empty, has never held anything
    };
    /// Error `invalid_argument` if the URL is not the address of a store.
    static Result<std::unique_ptr<FrontHome>> make(boost::asio::io_context& loop, const Settings& settings,
                                                   Logger& log);

    /// The store's address, without credentials and parameters.
    virtual std::string shown() const = 0;
};

}  // namespace holdfast::server
