#pragma once

#include <functional>
#include <optional>
#include <string>

#include "front/document.h"

namespace holdfast::core {

/// Notices when leases may be held that the engine knows nothing of any more: it was restarted, or replaced, and may
/// have lost what it had said was written; or its clock went ahead. Nothing may be granted then for as long as the
/// longest lease lasts (S1). What one front notices is written down, for those that start meanwhile.
class EngineWatch {
 public:
    struct Parts {
        Engine& engine;
        std::function<WriteId()> next_write;
        /// Nothing may be granted for so long; `why` is for people.
        std::function<void(Duration lasts, const std::string& why)> on_doubt;
    };
    explicit EngineWatch(Parts parts);

    /// Answers when this is known and written down.
    void on_reachable(const EngineHello& hello, Callback<Result<void>> done);
    void on_clock_stepped(Duration ahead, Callback<Result<void>> done);
    /// The engine may have lost leases, as its marker shows. Answers when that is written down.
    void declare(const std::string& why, Callback<Result<void>> done);
    /// Whether a doubt was written down, and not over, when this was last looked at.
    bool in_doubt() const { return in_doubt_; }
    /// Leases are granted for so long from now on. Answers when that is written down.
    void expect_ttl(Duration longest, Callback<Result<void>> done);

 private:
    struct Known {
        std::string life;
        Duration longest{};
        Duration doubt{};  ///< from when it was written
    };
    struct Doubt {
        Duration lasts{};
        std::string why;
        bool is_new = false;
    };
    Doubt judge(const Reading& reading, const std::optional<Known>& known) const;
    static std::optional<Known> parse(std::string_view text);
    static std::string format(const Known& known);

    Parts parts_;
    Document document_;
    EngineHello hello_;
    Duration longest_ = 5min;
    bool seen_ = false;  ///< this front has seen or written the document
    bool in_doubt_ = false;
};

}  // namespace holdfast::core
