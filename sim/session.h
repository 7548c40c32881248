#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "sim/exhaustive.h"
#include "sim/hunt.h"

namespace holdfast::sim {

/// The options of `holdfast-sim`.
struct SessionOptions {
    std::uint64_t seeds = 100;
    std::uint64_t first_seed = 1;
    std::optional<std::uint64_t> seed;            ///< only this one
    std::optional<std::chrono::minutes> minutes;  ///< run as many seeds as fit
    std::string mutant;
    bool shrink = false;
    bool exhaustive = false;
    std::uint64_t max_states = 1'000'000;
    std::function<bool()> stopped = {};  ///< polled: true ends the session with its present results
};

/// Receives the events of a session.
class Report {
 public:
    virtual ~Report() = default;

    using Seconds = std::chrono::duration<double>;
    virtual void progress(const Tally& tally, Seconds elapsed) = 0;
    virtual void finished(const Tally& tally, Seconds elapsed) = 0;
    virtual void failed(const Failure& failure) = 0;
    virtual void shrinking(const Scenario& scenario) = 0;
    virtual void shrunk(const Failure& failure) = 0;
    virtual void searched(const std::string& what, const Searched& searched, Seconds elapsed) = 0;
    virtual void refused(const std::string& why) = 0;
};

/// Runs a session. Returns the exit code: 0 if no rule was broken, even if the session was stopped; 1 if one was
/// broken; 2 if the options cannot be honoured.
int run_session(const SessionOptions& options, Report& report);

/// Prints text to standard output, and the progress to standard error.
class TextReport final : public Report {
 public:
    explicit TextReport(bool quiet) : quiet_(quiet) {}

    void progress(const Tally& tally, Seconds elapsed) override;
    void finished(const Tally& tally, Seconds elapsed) override;
    void failed(const Failure& failure) override;
    void shrinking(const Scenario& scenario) override;
    void shrunk(const Failure& failure) override;
    void searched(const std::string& what, const Searched& searched, Seconds elapsed) override;
    void refused(const std::string& why) override;

 private:
    bool quiet_;
};

}  // namespace holdfast::sim
