#pragma once

#include <boost/json/object.hpp>
#include <mutex>
#include <optional>
#include <string>

#include "cli/api.h"

namespace holdfast {

/// Who asks: a holder in one session for the life of the process, a plain one or a registered agent (G5). An agent's
/// requests carry the epoch of this life, so that an earlier process of the same agent is refused from then on.
class McpAgent {
 public:
    struct Config {
        std::string holder;
        std::string name_space;
        std::string priority;  ///< empty: a plain holder; `now`, or a number
    };
    explicit McpAgent(Config config);

    const std::string& holder() const { return config_.holder; }
    const std::string& name_space() const { return config_.name_space; }
    const std::string& session() const { return session_; }

    /// Registers, if it is to and has not yet: at the first claim, since the server may be away at the start. An answer
    /// that is ok() if all is well; else what the server said. The error is as of Api.
    Result<Answer> enroll(Api& api);

    /// `{holder, epoch?}`: how every request begins.
    boost::json::object signature() const;
    /// The same as a query, `holder=H&epoch=3`, with what the release of this lease needs besides.
    std::string query(const std::string& lease) const;

 private:
    const Config config_;
    const std::string session_;
    std::mutex enrolling_;
    mutable std::mutex mutex_;
    std::optional<std::int64_t> epoch_;  ///< once registered
};

/// True if the text is a priority: `now`, or a whole number of milliseconds.
bool is_priority(const std::string& text);

}  // namespace holdfast
