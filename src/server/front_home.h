#pragma once

#include <memory>
#include <string>

#include "server/home.h"
#include "server/logger.h"

namespace boost::asio {
class io_context;
}

namespace holdfast::server {

/// The home of a server that stores no leases itself: a front, one of many equal ones, of an engine.
struct FrontHome {
    std::unique_ptr<Home> home;
    std::string store;  ///< the store's address, without credentials and parameters
};

struct FrontSettings {
    std::string url;
    std::string state_dir;   ///< holds the file with the front's memory; empty: under the user's state home
    bool new_store = false;  ///< the engine, if it is empty, has never held anything
};

/// Error `invalid_argument` if the URL is not the address of a store.
Result<FrontHome> make_front_home(boost::asio::io_context& loop, const FrontSettings& settings, Logger& log);

}  // namespace holdfast::server
