#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "agreed/engine_durable.h"
#include "base/random.h"
#include "store/cas/engine_marker.h"
#include "store/cas/engine_store.h"
#include "store/cas/engine_watch.h"
#include "store/cas/front_memory.h"
#include "store/cas/token_blocks.h"

namespace holdfast::core {

/// One server of many on an engine: what it needs to know before it can serve, and who hears what of the engine's news
/// from then on. It keeps nothing itself.
class Front final : private EngineListener {
 public:
    struct Parts {
        Engine& engine;
        std::uint64_t seed = 0;
        WriteId last_write;                          ///< its write ids follow: both halves random (engine.h)
        std::function<std::uint64_t()> incarnation;  ///< random numbers, each for a history of the engine
        std::function<std::int64_t()> wall_ms;
        std::function<Instant()> clock;  ///< of this machine, as advance() is told; none: that will do
        std::function<std::int64_t(Instant)> shown_wall_ms = {};  ///< as for EngineStore
        std::function<void(const std::string&)> log, warn;
        /// The operator says that every write which the engine has answered outlives its fail-over and its restart.
        bool synchronous = false;
        /// The operator says that nothing was ever in this engine, if it is empty.
        bool new_store = false;
        FrontMemory remembered = {};  ///< from an earlier start; empty if there was none
        /// To be remembered for the next start; at most about once a second. May be empty.
        std::function<void(const FrontMemory&)> remember = {};
    };
    explicit Front(Parts parts);
    ~Front() override;

    /// Begins to talk to the engine; `ready` comes once, when everything is loaded. An engine that cannot be reached is
    /// waited for; what cannot heal by waiting is an error.
    void prepare(Callback<Result<void>> ready);

    // ---- once it is ready ----
    /// Which front this is: no other has the number, nor has had it lately.
    std::uint64_t number() const { return number_; }
    EngineDurable& durable() { return *durable_; }
    /// Makes the store. REQUIRES: called once, before advance().
    EngineStore& open(Authority& authority, StoreListener& listener);
    EngineStore& store() { return *store_; }

    /// Everything but the store, which has its own.
    void advance(Instant now);
    Instant next_due() const;

    /// Until when nothing may be granted (S1), as far as it is known before there is an authority to tell.
    Instant recovering_until() const { return recovering_until_; }
    const std::string& recovering_why() const { return recovering_why_; }

    /// Why nothing can be done at the moment; none if all is well.
    const std::optional<Error>& trouble() const { return trouble_ ? trouble_ : tokens_.trouble(); }
    /// What the next start should know.
    FrontMemory memory() const;
    void stop();
    /// Without its store from now on.
    void close() { store_.reset(); }

 private:
    void on_reachable(const EngineHello& hello) override;
    void on_unreachable(const Error& why) override;
    void on_notice(std::string_view notice) override;

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
    WriteId next_write();

    Parts parts_;
    Random random_;
    std::uint64_t number_ = 0;
    WriteId last_write_;
    std::optional<Error> trouble_;
    Callback<Result<void>> ready_;
    bool loaded_ = false;
    bool reachable_ = false, checking_ = false, stopped_ = false;
    std::string suspicion_;  ///< a reason to doubt the engine that is not declared yet
    bool met_loss_ = false;  ///< a request did, and it is not settled yet
    FrontMemory remembered_;
    EngineHello hello_;
    Instant check_at_ = Instant::max();
    Instant now_;
    Instant recovering_until_;
    bool doubting_ = false;         ///< the last doubt is not over, or that is not written down yet
    bool restores_policy_ = false;  ///< once the engine can be used: it may have lost that, too
    std::string recovering_why_;
    Instant raise_at_;
    GuardedEngine guard_;  ///< all but the marker and what is known of the engine itself go through it
    Document numbers_;
    EngineWatch watch_;
    EngineMarker marker_;
    TokenBlocks tokens_;
    std::unique_ptr<EngineDurable> durable_;
    std::unique_ptr<EngineStore> store_;
    Authority* authority_ = nullptr;
};

}  // namespace holdfast::core
