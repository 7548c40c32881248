#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "server/home.h"
#include "server/logger.h"

namespace boost::asio {
class io_context;
}

namespace holdfast {

/// The home of a server that keeps nothing itself: a front of an engine, one of many that are all equal.
class FrontHome : public Home {
 public:
    struct Settings {
        std::string url;
        std::string state_dir;   ///< for the file in which it remembers the engine; empty: under the user's state home
        bool new_store = false;  ///< nothing was ever in the engine, if it is empty
    };
    /// Error `invalid_argument` if this is no address of a store.
    static Result<std::unique_ptr<FrontHome>> make(boost::asio::io_context& loop, const Settings& settings,
                                                   Logger& log);

    /// The store's address, without what is secret in it.
    virtual std::string shown() const = 0;
};

}  // namespace holdfast
