#pragma once

#include <memory>

#include "agreed/log.h"
#include "consensus/log_submissions.h"
#include "consensus/log_writer.h"

namespace holdfast::agreed {

/// The log of a server that is alone, on its own disk: an entry is appended once that disk has it. There is no leader
/// and no vote, but what is on the disk is what a cluster's node would write, under one ballot.
///
/// While the disk refuses, entries are answered with its error (`storage_failed`), and appended once it recovers. An
/// entry that a stalled disk keeps waiting is answered with `unavailable`.
class LocalLog final : public Log {
 public:
    struct Parts {
        StateMachine& machine;
        std::unique_ptr<consensus::LogDisk> disk;
        consensus::LogFound found;  ///< the contents of the disk. REQUIRES: founded (founding_alone())
        consensus::LogIndex entries_before_snapshot = 1000;
    };
    explicit LocalLog(Parts parts);

    void append(std::string entry, Callback<Result<void>> done) override;
    void advance(Instant now) override;
    Instant next_due() const override;
    void stop() override;

    consensus::LogIndex applied() const { return applied_; }

 private:
    static constexpr Duration retry_after = 500ms;
    static constexpr Duration give_up_after = 5s;

    Result<void> check_room(std::size_t bytes) const;
    void apply(consensus::LogIndex index, const std::string& entry);
    void on_durable(const consensus::LogWrite& write);
    void on_failed(const Error& error);
    void settle();
    void fold();

    StateMachine& machine_;
    const std::unique_ptr<consensus::LogDisk> disk_;
    const consensus::LogBallot ballot_;
    const consensus::LogIndex entries_before_snapshot_;
    consensus::LogIndex last_ = 0;     ///< appended, though perhaps not durable yet
    consensus::LogIndex applied_ = 0;  ///< and so durable
    consensus::LogIndex folded_ = 0;   ///< into the last snapshot
    std::size_t bytes_since_snapshot_ = 0;
    std::size_t bytes_waiting_ = 0;  ///< for the disk
    bool answering_ = false;
    Instant now_{};
    consensus::LogSubmissions submissions_{1};
    consensus::LogWriter writer_;
};

}  // namespace holdfast::agreed
