#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "server/home.h"
#include "server/log.h"

namespace boost::asio {
class io_context;
}

namespace holdfast {

/// The home of a server that keeps nothing itself: a front of an engine, one of many that are all equal.
class FrontHome : public Home {
 public:
    /// Error `invalid_argument` if this is no address of a store.
    static Result<std::unique_ptr<FrontHome>> make(boost::asio::io_context& loop, const std::string& url, Log& log);

    /// The store's address, without what is secret in it.
    virtual std::string shown() const = 0;

    /// Waits for the engine and reads what it has. False if a signal came first. Errors are those that do not heal by
    /// waiting.
    virtual Result<bool> prepare() = 0;
};

}  // namespace holdfast
