#pragma once

#include <functional>
#include <memory>

#include "store/cas/engine.h"

namespace holdfast::store::cas {

/// Where an engine is in its history, as far as a front has seen it.
struct Place {
    WriteId marker;
    Position position = 0;  ///< 0: any

    bool operator==(const Place&) const = default;
};

/// An engine whose answers count only while its marker and its position are those that were seen, or later
/// (docs/decisions/0013-engines-that-forget.md). A swap requires both as part of its condition. With each read they are
/// read in the same turn, and thus in the same round trip. A request that meets another marker or an older position
/// fails with `store_unavailable`, after a call of on_lost(). Reads do not return the marker itself.
class GuardedEngine final : public Engine {
 public:
    struct Parts {
        Engine& engine;
        /// The engine went back or changed its history, and this is closed.
        std::function<void(const std::string& why)> on_lost;
    };
    explicit GuardedEngine(Parts parts) : parts_(std::move(parts)) {}

    /// Requires this place or a later one from now on.
    void require(const Place& place);
    /// Refuses all requests until a place is required again. Initially closed.
    void close() { open_ = false; }
    /// The highest place seen.
    const Place& required() const { return required_; }
    /// The engine was seen at `place`, by an answer to a request sent when `least` was required. True if it is there or
    /// later; otherwise calls on_lost(). Requires the marker from now on, and the position if it is `kept`.
    enum class Is : std::uint8_t { shown, kept };
    bool take(const Place& place, const Place& least, Is position);

    void fetch(Kind kind, std::string_view name, Callback<Result<Reading>> reply) override;
    void swap(const Swap& swap, Callback<Result<Swapped>> reply) override;
    void overlapping(std::string_view resource, std::size_t most, Callback<Result<FoundRecords>> reply) override;
    void of_holder(std::string_view holder, std::size_t most, Callback<Result<FoundRecords>> reply) override;
    void scan(Kind kind, std::string_view prefix, std::string_view after, std::size_t most,
              Callback<Result<Page>> reply) override;
    void overdue(std::size_t most, Callback<Result<std::vector<std::string>>> reply) override;
    double rho() const override { return parts_.engine.rho(); }
    Duration swap_lingers() const override { return parts_.engine.swap_lingers(); }
    void start(EngineListener& listener) override { parts_.engine.start(listener); }
    void stop() override { parts_.engine.stop(); }
    std::string status() const override { return parts_.engine.status(); }

 private:
    template <class Answer>
    struct Checked;
    /// The callback for the answer; the marker is requested after the call that it is passed to.
    template <class Answer>
    Callback<Result<Answer>> checked(std::shared_ptr<Checked<Answer>> both);
    template <class Answer>
    void ask_for_marker(const std::shared_ptr<Checked<Answer>>& both);
    template <class Answer>
    std::shared_ptr<Checked<Answer>> begin(Callback<Result<Answer>> reply) const;
    template <class Answer>
    void answer(Checked<Answer>& both);
    /// True if this is closed; then the error is answered in a later turn.
    template <class Answer>
    bool refuses(Callback<Result<Answer>>& reply);
    bool is_believed(const Swapped& swapped, const Place& least);
    void lost(const std::string& why);

    Parts parts_;
    Place required_;
    bool open_ = false;
    std::shared_ptr<void> alive_ = std::make_shared<char>();
};

}  // namespace holdfast::store::cas
