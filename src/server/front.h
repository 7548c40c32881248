#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "agreed/agreement.h"
#include "agreed/engine_log.h"
#include "base/random.h"
#include "store/cas/engine_marker.h"
#include "store/cas/engine_store.h"
#include "store/cas/engine_watch.h"
#include "store/cas/front_memory.h"
#include "store/cas/token_blocks.h"

namespace holdfast::server {

/// One of many servers that share an engine. Loads what it needs before it can serve, and passes the engine's
/// notifications on to its components. It stores no leases itself.
class Front final : private store::cas::EngineListener {
 public:
    struct Parts {
        store::cas::Engine& engine;
        std::uint64_t seed = 0;
        store::cas::WriteId last_write;              ///< its write ids follow this one; both halves random (engine.h)
        std::function<std::uint64_t()> incarnation;  ///< returns a random number for a history of the engine
        std::function<std::int64_t()> wall_ms;
        std::function<Instant()> clock;  ///< of this machine, same as advance(); empty: advance()'s time is used
        std::function<std::int64_t(Instant)> shown_wall_ms = {};  ///< as for EngineStore
        std::function<void(const std::string&)> log, warn;
        /// The operator guarantees that every write the engine has acknowledged survives its fail-over and its restart.
        bool synchronous = false;
        /// The operator guarantees that the engine, if it is empty, has never held anything.
        bool new_store = false;
        store::cas::FrontMemory remembered = {};  ///< from an earlier start; empty if there was none
        /// Saves the memory for the next start. Called at most about once a second. May be empty.
        std::function<void(const store::cas::FrontMemory&)> remember = {};
    };
    explicit Front(Parts parts);
    ~Front() override;

    /// Connects to the engine. `ready` is called once, when everything is loaded. While the engine is unreachable, the
    /// front keeps waiting; only an error that waiting cannot resolve is reported.
    void prepare(Callback<Result<void>> ready);

    // ---- once it is ready ----
    /// The number of this front. No other front has it, or has had it recently.
    std::uint64_t number() const { return number_; }
    /// What all fronts agree on. Complete once the front is ready.
    agreed::Agreement& agreement() { return agreement_; }
    /// Makes the store. REQUIRES: called once, before advance().
    store::cas::EngineStore& open(authority::Authority& authority, store::StoreListener& listener);
    store::cas::EngineStore& store() { return *store_; }

    /// Drives everything except the store, which has its own advance().
    void advance(Instant now);
    Instant next_due() const;

    /// Until when nothing may be granted (S1), as known before there is an authority to pass it to.
    Instant recovering_until() const { return recovering_until_; }
    const std::string& recovering_why() const { return recovering_why_; }

    /// Why the engine cannot be used at the moment; empty if it can.
    const std::optional<Error>& trouble() const { return trouble_ ? trouble_ : tokens_.trouble(); }
    /// What to save for the next start.
    store::cas::FrontMemory memory() const;
    void stop();
    /// Destroys the store.
    void close() { store_.reset(); }

 private:
    void on_reachable(const store::cas::EngineHello& hello) override;
    void on_unreachable(const Error& why) override;
    void on_notice(std::string_view notice) override;

    agreed::Agreement::Parts agreement_parts();
    void check_engine();
    void settle_marker(const std::string& why);
    void on_lost(const std::string& why);
    void suspect(const std::string& why);
    void remember();
    void checked(const Result<void>& outcome);
    void take_number();
    void load();
    void finish(const Result<void>& outcome);
    void doubt(Duration lasts, const std::string& why);
    store::cas::WriteId next_write();

    Parts parts_;
    Random random_;
    std::uint64_t number_ = 0;
    store::cas::WriteId last_write_;
    std::optional<Error> trouble_;
    Callback<Result<void>> ready_;
    bool loaded_ = false;
    bool reachable_ = false, checking_ = false, stopped_ = false;
    std::string suspicion_;  ///< a reason to doubt the engine, not declared yet
    bool met_loss_ = false;  ///< a request met a loss, and the marker is not settled yet
    store::cas::FrontMemory remembered_;
    store::cas::EngineHello hello_;
    Instant check_at_ = Instant::max();
    Instant now_;
    Instant recovering_until_;
    bool doubting_ = false;         ///< the last doubt is not over, or its end is not durable yet
    bool restores_policy_ = false;  ///< once the engine can be used: it may have lost the policy, too
    std::string recovering_why_;
    Instant raise_at_;
    store::cas::GuardedEngine guard_;  ///< used for everything except marker_ and watch_
    store::cas::Document numbers_;
    store::cas::EngineWatch watch_;
    store::cas::EngineMarker marker_;
    store::cas::TokenBlocks tokens_;
    agreed::Agreement agreement_;
    agreed::EngineLog log_;
    std::unique_ptr<store::cas::EngineStore> store_;
    authority::Authority* authority_ = nullptr;
};

}  // namespace holdfast::server
