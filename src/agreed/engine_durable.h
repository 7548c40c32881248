#pragma once

#include <memory>
#include <vector>

#include "agreed/agreed_state.h"
#include "agreed/engine_log.h"
#include "store/cas/engine_watch.h"

namespace holdfast::agreed {

/// Durable state of a front, kept in the engine's log, where all fronts read it. A change is in force here when it is
/// answered, and on the other fronts as soon as they have read it.
class EngineDurable final : public store::Durable {
 public:
    struct Parts {
        store::cas::Engine& engine;
        std::function<store::cas::WriteId()> next_write;
        store::cas::EngineWatch& watch;
        std::uint64_t first_id = 1;  ///< of commands; unique among all fronts and incarnations
        std::function<void(const Error&)> on_failure;
    };
    explicit EngineDurable(Parts parts);
    ~EngineDurable() override;

    /// The engine may have lost the agreed state: writes the state known here again.
    void restore() { log_.save(); }
    /// Reads the state. Call it before anything else.
    void load(Callback<Result<void>> done);
    lease::Policy policy() const { return agreed_.state().policy(); }
    std::vector<store::SavedAgent> agents() const;
    /// From now on all changes are passed to the authority.
    void use(authority::Authority& authority);

    void advance(Instant now);
    Instant next_due() const { return log_.next_due(); }
    /// False if this notice is not about the log.
    bool on_notice(std::string_view notice);
    /// Notices may have been missed.
    void on_reachable() { log_.on_notice(); }
    void stop();

    void reserve_tokens(lease::Token, Callback<Result<void>> done) override { done({}); }  // the store reserves tokens
    void submit(store::Change change, std::optional<store::AuditEntry> audit, Callback<Result<void>> done) override;
    store::AuditPage audit(std::uint64_t after, std::size_t limit) const override;

 private:
    void change_policy(std::optional<store::AuditEntry> audit, const lease::Policy& policy,
                       Callback<Result<void>> done);

    Parts parts_;
    EngineLog log_;
    AgreedState agreed_;
    authority::Authority* authority_ = nullptr;
    bool stopped_ = false;
};

}  // namespace holdfast::agreed
