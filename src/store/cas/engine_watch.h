#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "store/cas/document.h"
#include "store/cas/front_memory.h"

namespace holdfast::store::cas {

/// The reason why a front that knows nothing of an empty engine grants nothing.
inline constexpr std::string_view store_is_empty =
    "the store is empty, and this server does not know whether leases were lost with it (say --new-store if nothing "
    "was ever there)";

/// The document in which all fronts of an engine record its history, the longest TTL, and the last *doubt*: that leases
/// may be held which the engine has lost. Nothing may be granted then for as long as the longest lease lasts (S1), by
/// any front, including one that starts meanwhile.
///
/// With each doubt the marker gets another incarnation (engine_marker.h), and the document names the earlier ones. So a
/// front that meets another incarnation than it has seen knows whether another front has declared a doubt since, or the
/// engine is in a history that this front knows nothing of.
class EngineWatch {
 public:
    struct Parts {
        Engine& engine;
        std::function<WriteId()> next_write;
        /// Nothing may be granted for this long; `why` is for people.
        std::function<void(Duration lasts, const std::string& why)> on_doubt;
        /// Set by the operator: every write that the engine has answered survives its fail-over and its restart.
        bool synchronous = false;
        /// Set by the operator: an empty engine has always been empty, so a doubt for that reason alone is over.
        bool new_store = false;
        FrontMemory remembered;  ///< from an earlier start; empty if there was none
    };
    explicit EngineWatch(Parts parts);

    /// Reads the document. Answers with the reason for a doubt that no front has declared yet; empty if there is none.
    void on_reachable(const EngineHello& hello, Callback<Result<std::string>> done);
    /// Leases may have been lost, and these incarnations of the marker are over. Answers when that is durable.
    void declare(const std::string& why, const std::vector<std::uint64_t>& over, Callback<Result<void>> done);
    /// True if the document, when it was last read or written, named this incarnation as over, and its writer knew the
    /// longest TTL that may be in force.
    bool is_over(std::uint64_t incarnation) const;
    /// This front has waited for as long as the last doubt lasts. Fronts that start later then need not wait, though
    /// they may be unable to tell how long ago it was declared.
    void end_doubt();
    /// Leases are granted for up to this long from now on. Answers when that is durable.
    void expect_ttl(Duration longest, Callback<Result<void>> done);
    /// Another front grants leases for up to this long, and has recorded it.
    void know_ttl(Duration longest) { longest_ = std::max(longest_, longest); }

    Duration longest() const { return longest_; }

 private:
    struct Known {
        std::string history;
        Duration longest{};
        Duration doubt{};                 ///< from when it was written
        std::vector<std::uint64_t> over;  ///< incarnations of the marker, the latest last
        std::string why;
    };
    std::string why_doubted(const Reading& reading, const std::optional<Known>& known) const;
    static std::optional<Known> parse(std::string_view text);
    static std::string format(const Known& known);

    Parts parts_;
    Document document_;
    EngineHello hello_;
    Duration longest_;
    std::vector<std::uint64_t> over_;  ///< as in the document
    bool seen_;                        ///< this front has seen or written the document
    bool knew_less_ = false;           ///< the document's writer knew of shorter leases only; until a doubt is declared
};

}  // namespace holdfast::store::cas
