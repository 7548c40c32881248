#pragma once

#include <deque>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "resp_link.h"

namespace holdfast::bench {

/// Commands that are sent together.
struct RespCommands {
    std::string bytes{};
    std::size_t count = 0;

    void add(std::initializer_list<std::string_view> words) { add(std::span(words.begin(), words.size())); }
    void add(std::span<const std::string_view> words);
};

/// Asks one of several nodes that can all answer, and the next one when it is lost or silent. Connects when it must.
class RespClient {
 public:
    /// `greeting` is said first on each connection, and none of it may be answered with an error.
    explicit RespClient(std::vector<std::uint16_t> ports, RespCommands greeting = {});

    struct Answers : Exchange {
        HolderInstant sent_at;  ///< `asked` by the holder's clock (T3)
        std::vector<codec::resp::Value> values;
    };
    /// Sends commands together and waits for all the answers. They are sent to a second node only after the first has
    /// failed, which may have carried them out: where there is only one node, that is an error. `patience`: how long
    /// the server may take beyond the usual, as it was told to wait.
    Answers ask(const RespCommands& commands, Milliseconds patience = {});

    /// The same in two steps, for several requests under way at one node: finish() waits for the answers of the first
    /// that has begun. What fails here is not tried again, and nothing is under way any more.
    void begin(const RespCommands& commands);
    Answers finish();

    /// Nothing is under way any more.
    void disconnect();
    std::uint16_t port() const { return ports_[at_]; }

 private:
    struct UnderWay {
        Answers answers;  ///< none yet
        std::size_t missing = 0;
    };
    void open(Moment until);
    void send(const RespCommands& commands, Moment until);
    Answers receive(Moment until);
    void go_on();

    std::vector<std::uint16_t> ports_;
    RespCommands greeting_;
    std::size_t at_ = 0;
    std::optional<RespLink> link_;
    std::deque<UnderWay> under_way_;
};

}  // namespace holdfast::bench
