#pragma once

#include <boost/asio/post.hpp>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "store/redis/indices.h"
#include "store/redis/nodes.h"
#include "store/redis/redis_engine.h"

namespace holdfast::store::redis {

class RedisEngine final : public cas::Engine {
 public:
    RedisEngine(boost::asio::io_context& loop, RedisEngineOptions options);
    ~RedisEngine() override;

    void fetch(Kind kind, std::string_view name, Callback<Result<cas::Reading>> reply) override;
    void swap(const cas::Swap& swap, Callback<Result<cas::Swapped>> reply) override;
    void overlapping(std::string_view resource, std::size_t most, Callback<Result<cas::FoundRecords>> reply) override;
    void of_holder(std::string_view holder, std::size_t most, Callback<Result<cas::FoundRecords>> reply) override;
    void scan(Kind kind, std::string_view prefix, std::string_view after, std::size_t most,
              Callback<Result<cas::Page>> reply) override;
    void overdue(std::size_t most, Callback<Result<std::vector<std::string>>> reply) override;

    Duration swap_lingers() const override { return lingers() + options_.answer_within; }
    void start(cas::EngineListener& listener) override;
    void stop() override;
    std::string status() const override;

 private:
    struct SwapBatch;
    /// A swap in flight, with the index entries that it needs first.
    struct SwapCall {
        /// A holder in the new record.
        struct Named {
            std::string holder;
            Micros until = 0;  ///< 0: the index is known to contain it
            std::int64_t score = 0;
        };
        Callback<Result<cas::Swapped>> reply;
        WriteId expected = 0;
        Indexed* indexed = nullptr;  ///< for records; valid while in flight and while memory_.life() == memory_life
        std::uint64_t memory_life = 0;
        std::string name{};  ///< for records
        std::vector<Named> named{};
        Micros folders_until = 0;  ///< takes effect once the indices are written
        std::size_t missing = 0;   ///< index replies outstanding
        /// In a cluster a slot may be migrating key by key, so the swap is held back until the indices are written.
        /// Elsewhere Redis executes the commands of one connection in order.
        std::unique_ptr<SwapBatch> held_back{};
        bool is_answered = false;
        Result<cas::Swapped> outcome = cas::Swapped{};
        std::optional<Error> index_error{};
    };
    using SwapPointer = std::shared_ptr<SwapCall>;

    /// Swaps sent in one call of the script.
    struct SwapBatch {
        std::string keys{};
        std::string arguments{};
        Micros latest = 0;           ///< none takes effect from then on
        WriteId marker{};            ///< the same for all of them
        cas::Position position = 0;  ///< the highest that any of them requires
        std::vector<SwapPointer> calls{};

        std::size_t bytes() const { return keys.size() + arguments.size(); }
    };

    /// The writes to one index in this turn, and the swaps that need them. For the script `due` there is one swap per
    /// member.
    struct IndexBatch {
        Script script = Script::cover;
        std::string key{};
        std::string arguments{};
        std::size_t words = 0;
        std::vector<SwapPointer> calls{};
    };

    /// Several values, as they were at `now` or later.
    struct Got {
        std::vector<std::string> names{};
        std::vector<std::optional<Stored>> values{};
        EngineTime now = EngineTime::max();
    };
    struct Getting {
        Got got{};
        std::size_t missing = 0;
        std::optional<Error> error{};
        Callback<Result<Got>> reply{};
    };
    struct Scanning {
        Kind kind = Kind::record;
        std::string pattern{};
        std::string count{};
        std::string cursor = "0";
        std::size_t rounds = 0;
        std::vector<std::string> names{};
        Callback<Result<cas::Page>> reply{};
    };
    struct Taking {
        struct Taken {
            std::uint32_t set = 0;
            std::string mark{};
            std::string front{};  ///< the owner of the entry
        };
        std::vector<std::string> names{};
        std::vector<Taken> from{};  ///< by name's position
        std::size_t missing = 0;
        std::size_t most = 0;
        std::optional<Error> error{};
        Callback<Result<std::vector<std::string>>> reply{};
    };

    void on_up();
    template <class T>
    void fail(Callback<Result<T>> reply, Error error) {
        boost::asio::post(loop_, [reply = std::move(reply), error = std::move(error)]() mutable { reply(error); });
    }
    Result<Link*> link_for(std::size_t bytes);
    Error unreadable(std::string_view what, std::size_t index = 0) const;
    Result<EngineTime> time_in(const codec::resp::Value& answer);
    Result<cas::Position> position_in(const codec::resp::Value& answer) const;
    Result<cas::Reading> read_fetched(Result<codec::resp::Value> answer);
    Result<Stored> stored_in(codec::resp::Value& value, std::size_t index = 0);

    Duration lingers() const { return options_.answer_within + 500ms; }
    SwapBatch swap_alone(const cas::Swap& swap, std::string_view key, SwapPointer call) const;
    void send_with_others(SwapBatch batch);
    void send_swaps();
    void swaps_answered(const std::vector<SwapPointer>& calls, Result<codec::resp::Value> answer);
    Result<void> read_swaps(const std::vector<SwapPointer>& calls, codec::resp::Value& answer);
    Result<cas::Swapped> read_swap(char letter, codec::resp::Value& value, std::size_t index);
    void swap_answered(const SwapPointer& call);
    void finish_answered(SwapCall& call);
    void finish(SwapCall& call, Result<cas::Swapped> outcome);

    Result<void> plan_indices(const cas::Swap& swap, const SwapPointer& call);
    void cover_holders(const cas::Swap& swap, const SwapPointer& call, Micros keep);
    void cover_folders(const cas::Swap& swap, const SwapPointer& call, Micros keep);
    void set_due(const cas::Swap& swap, const SwapPointer& call);
    std::int64_t cover(const std::string& key, Micros until, std::int64_t own, const SwapPointer& call);
    void add_to_batch(Script script, const std::string& key, std::initializer_list<std::string_view> words,
                      const SwapPointer& call);
    void send_batches();
    void send_batch(IndexBatch batch);
    void index_answered(const IndexBatch& batch, const Result<codec::resp::Value>& answer);
    void one_index_answered(const SwapPointer& call);
    void learn_due(SwapCall& call, const codec::resp::Value& score);
    void learn(SwapCall& call, const Result<cas::Swapped>& outcome);
    static void distrust(Indexed& indexed);
    void free_holders(const SwapCall& call, Indexed& indexed, bool done);
    bool is_ahead(Micros due, Micros now) const;
    void drop_freed();
    void drop_batches();
    void forget_all();

    void look(const std::string& index, std::size_t most, Callback<Result<Got>> reply);
    void get_all(Kind kind, std::vector<std::string> names, Callback<Result<Got>> reply);
    void get_time(Link& link, const std::shared_ptr<Getting>& getting);
    void get_values(Link& link, Kind kind, const std::shared_ptr<Getting>& getting);
    void got_one(const std::shared_ptr<Getting>& getting);
    void show(Got found, bool cut, Callback<Result<cas::FoundRecords>> reply);
    void scan_on(const std::shared_ptr<Scanning>& scanning);
    void scanned(const std::shared_ptr<Scanning>& scanning, Result<codec::resp::Value> answer);
    void scan_done(const std::shared_ptr<Scanning>& scanning);
    std::string cursor_text(const Scanning& scanning) const;
    bool read_cursor(std::string_view text, Scanning& scanning) const;
    void taken(const std::shared_ptr<Taking>& taking, std::uint32_t set, Result<codec::resp::Value> answer);
    void taken_all(const std::shared_ptr<Taking>& taking);
    std::vector<std::string> settle(const Taking& taking, const Got& got);

    boost::asio::io_context& loop_;
    const RedisEngineOptions options_;
    const std::string notices_;  // the channel
    Keys keys_;
    const std::string front_;  // its name in entries of the due sets
    std::shared_ptr<Nodes> nodes_;
    IndexMemory memory_;
    FreedHolders freed_;
    std::size_t swaps_under_way_ = 0;
    SwapBatch swaps_;                  // of this turn
    std::vector<IndexBatch> batches_;  // of this turn
    std::unordered_map<std::string, std::size_t> batch_of_;
    std::size_t batch_bytes_ = 0;
};

}  // namespace holdfast::store::redis
