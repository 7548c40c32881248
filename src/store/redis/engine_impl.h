#pragma once

#include <boost/asio/post.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "store/redis/nodes.h"
#include "store/redis/redis_engine.h"
#include "store/redis/stored.h"

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
    struct SwapCall {
        Callback<Result<cas::Swapped>> reply;
        WriteId expected;
        Result<cas::Swapped> outcome;
    };
    using SwapCalls = std::vector<SwapCall>;

    /// Swaps sent in one call of the script.
    struct SwapBatch {
        std::string keys{};      ///< of the records
        std::string set_keys{};  ///< of the sets that they enter and leave
        std::string arguments{};
        std::size_t sets = 0;
        Micros latest = 0;           ///< none takes effect from then on
        WriteId marker{};            ///< the same for all of them
        cas::Position position = 0;  ///< the highest that any of them requires
        SwapCalls calls{};

        std::size_t bytes() const { return keys.size() + set_keys.size() + arguments.size(); }
    };

    /// Several values, as they were at `now` or later.
    struct Got {
        std::vector<std::string> names{};
        std::vector<std::optional<cas::StoredValue>> values{};
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
    struct Sweeping {
        std::vector<std::string> names{};
        std::size_t most = 0;
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
    Result<cas::StoredValue> stored_in(codec::resp::Value& value, std::size_t index = 0);

    Duration lingers() const { return options_.answer_within + 500ms; }
    void add(const cas::Swap& swap);
    void add_index_entries(const cas::Swap& swap, Micros latest);
    void send_swaps();
    void swaps_answered(SwapCalls& calls, Result<codec::resp::Value> answer);
    Result<void> read_swaps(SwapCalls& calls, codec::resp::Value& answer);
    Result<cas::Swapped> read_swap(char letter, codec::resp::Value& value, std::size_t index);
    void drop_swaps();

    void names_in(const std::string& set, std::size_t most, Callback<Result<std::vector<std::string>>> reply);
    void get_all(Kind kind, std::vector<std::string> names, Callback<Result<Got>> reply);
    void get_time(Link& link, const std::shared_ptr<Getting>& getting);
    void get_values(Link& link, Kind kind, const std::shared_ptr<Getting>& getting);
    void got_one(const std::shared_ptr<Getting>& getting);
    void show(std::vector<std::string> names, bool cut, Callback<Result<cas::FoundRecords>> reply);
    void scan_on(const std::shared_ptr<Scanning>& scanning);
    void scanned(const std::shared_ptr<Scanning>& scanning, Result<codec::resp::Value> answer);
    void scan_done(const std::shared_ptr<Scanning>& scanning);
    std::string cursor_text(const Scanning& scanning) const;
    bool read_cursor(std::string_view text, Scanning& scanning) const;
    void sweep_on(const std::shared_ptr<Sweeping>& sweeping);
    void swept(const std::shared_ptr<Sweeping>& sweeping, Result<codec::resp::Value> answer);

    boost::asio::io_context& loop_;
    const RedisEngineOptions options_;
    const std::string notices_;  // the channel
    Keys keys_;
    std::shared_ptr<Nodes> nodes_;
    std::size_t swaps_under_way_ = 0;
    SwapBatch swaps_;  // of this turn
};

}  // namespace holdfast::store::redis
