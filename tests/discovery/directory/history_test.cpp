#include <gtest/gtest.h>
#include <map>
#include <set>

#include "base/random.h"
#include "discovery/directory/directory_desk.h"
#include "support/seeds.h"

namespace holdfast::discovery::directory {
namespace {

/// What docs/discovery.md says, the slow and obvious way.
struct Model {
    struct Held {
        std::string publisher;
        lease::Token token = 0;
        Instant ends;
        std::uint64_t connection = 0;
        std::int64_t first_seen_ms = 0;
        Instant heard_at{};

        /// Two renewals of 5 s are missing, and half of a third (D4).
        bool is_reachable(Instant now) const { return connection != 0 && now < heard_at + 12500ms; }
    };
    std::map<std::string, Held> held;
    std::set<std::string> banned;

    void expire(Instant now) {
        std::erase_if(held, [&](const auto& one) { return now >= one.second.ends; });
    }
    std::string enter(const std::string& publisher, const std::string& name,
                      std::optional<lease::Token> returning) const {
        if (banned.contains(publisher)) return "banned";
        const auto found = held.find(name);
        if (found == held.end()) return "ok";
        if (found->second.publisher != publisher) return "name_taken";
        return returning && *returning != found->second.token ? "superseded" : "ok";
    }
    /// Empty: whatever says that it is not found.
    std::string renew(const std::string& publisher, const std::string& name, lease::Token token,
                      bool over_connection) const {
        const auto found = held.find(name);
        if (found == held.end()) return "";
        if (found->second.publisher != publisher) return "name_taken";
        if (found->second.token != token) return "superseded";
        if (over_connection && found->second.connection == 0) return "";
        return banned.contains(publisher) ? "banned" : "ok";
    }
};

std::string answer_in(const UpdateResponse& told) {
    return told.refused ? std::string(told.refused->name()) : "ok";
}

/// A history of publishers, connections, bans and time that is chosen at random.
class History {
 public:
    explicit History(std::uint64_t seed) : random_(seed) {}

    void step() {
        const std::string publisher(1, static_cast<char>('a' + random_.below(3)));
        const std::string name = "s" + std::to_string(random_.below(4));
        const std::uint64_t connection = random_.below(4);  // 0: over HTTP
        switch (random_.below(8)) {
            case 0:
            case 1:
                return enter(publisher, name, connection);
            case 2:
            case 3:
                return renew(publisher, name, connection);
            case 4:
                return leave(publisher, name, connection);
            case 5:
                return close(1 + random_.below(3));
            case 6:
                return ban_or_lift(publisher);
            default:
                desk_.pass(std::chrono::seconds(random_.below(12)));
                model_.expire(desk_.now);
        }
    }

    void check() {
        std::vector<std::string> shown;
        for (const auto& [name, held] : model_.held) {
            const auto served = desk_.directory->served(name);
            const bool hidden = model_.banned.contains(held.publisher);
            ASSERT_EQ(served.has_value(), held.is_reachable(desk_.now) && !hidden) << name;
            silent_ += held.connection != 0 && !held.is_reachable(desk_.now) ? 1 : 0;
            if (served) {
                ASSERT_EQ(served->connection, open_.at(held.connection));
                ASSERT_EQ(served->token, held.token);
            }
            const auto entry = desk_.find(name);
            ASSERT_EQ(entry.has_value(), !hidden) << name;
            if (hidden) continue;
            shown.push_back(name);
            ASSERT_EQ(entry->identity, desk_.id(held.publisher));
            ASSERT_EQ(entry->connected, held.is_reachable(desk_.now));
            ASSERT_EQ(entry->expires_in, held.ends - desk_.now);
            ASSERT_EQ(entry->first_seen_ms, held.first_seen_ms);
        }
        ASSERT_EQ(desk_.names(), shown);
        ASSERT_EQ(watched_, std::set<std::string>(shown.begin(), shown.end())) << "who only listened knows as much";
        ASSERT_EQ(desk_.store.active_leases(), model_.held.size());
    }

    void watch() {
        desk_.directory->watch([this](Directory::Change change, const ServiceEntry& entry) {
            const bool known = watched_.contains(entry.name);
            ASSERT_EQ(known, change != Directory::Change::registered) << entry.name;
            change == Directory::Change::gone ? watched_.erase(entry.name) : (watched_.insert(entry.name), 0);
        });
    }

    std::map<std::string, int> answers;
    int silent() const { return silent_; }

 private:
    /// Numbers of connections are never used again.
    authority::Caller over(std::uint64_t connection) {
        if (connection == 0) return DirectoryDesk::over(0);
        if (!open_.contains(connection)) open_[connection] = ++last_connection_;
        return DirectoryDesk::over(open_[connection]);
    }
    lease::Token some_token(const std::string& publisher, const std::string& name) {
        const auto& all = tokens_[publisher + name];
        return all.empty() ? 1 : all[all.size() - 1 - random_.below(std::min<std::size_t>(all.size(), 2))];
    }

    void enter(const std::string& publisher, const std::string& name, std::uint64_t connection) {
        const bool returns = random_.below(2) == 0;
        const lease::Token token = some_token(publisher, name);
        const auto expected = model_.enter(publisher, name, returns ? std::optional(token) : std::nullopt);
        const auto told = returns ? desk_.come_back(publisher, name, token, over(connection))
                                  : desk_.enter(publisher, name, over(connection));
        ++answers[answer_in(told)];
        ASSERT_EQ(answer_in(told), expected);
        if (told.refused) return;
        const auto before = model_.held.find(name);
        const std::int64_t first =
            before == model_.held.end() ? desk_.directory->relay_time_ms() : before->second.first_seen_ms;
        if (before != model_.held.end()) {
            ASSERT_GT(told.token, before->second.token);
        }
        model_.held[name] = {publisher, told.token, desk_.now + 30s, connection, first, desk_.now};
        tokens_[publisher + name].push_back(told.token);
    }

    void renew(const std::string& publisher, const std::string& name, std::uint64_t connection) {
        const lease::Token token = some_token(publisher, name);
        const auto expected = model_.renew(publisher, name, token, connection != 0);
        const auto told = desk_.renew(publisher, name, token, over(connection));
        ++answers[answer_in(told)];
        if (expected.empty()) {
            static const std::set<std::string> not_found{"unknown_lease", "lease_expired", "lease_released"};
            ASSERT_TRUE(not_found.contains(answer_in(told))) << answer_in(told);
            return;
        }
        ASSERT_EQ(answer_in(told), expected);
        Model::Held& held = model_.held[name];
        const bool its_own = held.publisher == publisher && held.token == token && held.connection == connection;
        if (its_own || !told.refused) held.heard_at = desk_.now;
        if (told.refused) return;
        model_.held[name].ends = desk_.now + 30s;
        if (connection != 0) model_.held[name].connection = connection;
    }

    void leave(const std::string& publisher, const std::string& name, std::uint64_t connection) {
        const lease::Token token = some_token(publisher, name);
        const auto told = desk_.leave(publisher, name, token, over(connection));
        const auto found = model_.held.find(name);
        const bool there = found != model_.held.end() && found->second.token == token;
        ASSERT_EQ(told.refused, std::nullopt);
        if (there && found->second.publisher == publisher) model_.held.erase(found);
    }

    void close(std::uint64_t connection) {
        const auto open = open_.find(connection);
        if (open == open_.end()) return;
        desk_.directory->connection_closed(open->second);
        open_.erase(open);
        std::erase_if(model_.held, [&](const auto& one) { return one.second.connection == connection; });
    }

    void ban_or_lift(const std::string& publisher) {
        if (model_.banned.erase(publisher) > 0) return desk_.unban(desk_.id(publisher));
        if (random_.below(3) != 0) return;
        model_.banned.insert(publisher);
        desk_.ban(desk_.id(publisher));
    }

    Random random_;
    DirectoryDesk desk_;
    Model model_;
    std::map<std::uint64_t, std::uint64_t> open_;
    std::uint64_t last_connection_ = 0;
    std::map<std::string, std::vector<lease::Token>> tokens_;
    std::set<std::string> watched_;
    int silent_ = 0;
};

TEST(ServiceHistory, is_what_the_obvious_model_says_whatever_happens) {
    std::map<std::string, int> answers;
    int silent = 0;
    for (std::uint64_t seed = first_seed(), end = seed + 30; seed < end; ++seed) {
        History history(seed);
        history.watch();
        for (int i = 0; i < 200; ++i) {
            history.step();
            history.check();
            ASSERT_FALSE(testing::Test::HasFatalFailure()) << "seed " << seed << ", step " << i;
        }
        for (const auto& [code, count] : history.answers)
            answers[code] += count;
        silent += history.silent();
    }
    EXPECT_GT(silent, 100) << "too little happened to prove anything";
    for (const char* code : {"ok", "name_taken", "superseded", "banned", "lease_expired", "lease_released"})
        EXPECT_GT(answers[code], 20) << code << ": too little happened to prove anything";
}

}  // namespace
}  // namespace holdfast::discovery::directory
