// Access control between the log and this server: what a caller is answered, and when the change is in force.

#include <gtest/gtest.h>

#include "agreed/nodes.h"
#include "auth/login.h"
#include "auth/world.h"
#include "authority/desk.h"

namespace holdfast::agreed {
namespace {

using auth::AuthChange;
using auth::start_ms;

/// A log that appends at once, and once more if the test says so, with the entries of other servers before it.
class TestLog final : public Log {
 public:
    explicit TestLog(StateMachine& machine) : machine_(machine) {}

    void append(std::string entry, Callback<Result<void>> done) override {
        ++appended;
        for (std::string& other : std::exchange(others, {}))
            machine_.apply(++last_, other);
        if (before_append) before_append();
        if (snapshot) {
            const Result<void> installed = machine_.install(*std::exchange(snapshot, {}));
            EXPECT_TRUE(installed);
        } else {
            for (int i = 0; i < copies; ++i)
                machine_.apply(++last_, entry);
        }
        done(outcome);
    }
    void advance(Instant) override {}
    Instant next_due() const override { return Instant::max(); }
    void stop() override {}

    /// An entry of another server arrives by itself.
    void receive(const std::string& entry) {
        machine_.apply(++last_, entry);
        machine_.applied();
    }

    int appended = 0;
    int copies = 1;
    std::vector<std::string> others;
    std::function<void()> before_append;
    std::optional<std::string> snapshot;
    Result<void> outcome;

 private:
    StateMachine& machine_;
    consensus::LogIndex last_ = 0;
};

class AgreementAuth : public testing::Test {
 protected:
    AgreementAuth() {
        EXPECT_TRUE(agreement_.begin(log_));
        agreement_.use(desk_.authority);
        EXPECT_EQ(submit(auth::CreatePrincipal{"root", {"admin"}, auth::issued(1)}), "ok");
        EXPECT_EQ(submit(auth::EnableAuth{}), "ok");
        heard_.clear();
        log_.appended = 0;
    }
    ~AgreementAuth() override { agreement_.stop(); }

    /// The code that the caller is answered.
    std::string submit(AuthChange::What what, std::optional<store::AuditEntry> audit = std::nullopt) {
        std::optional<std::string> answer;
        agreement_.submit(AuthChange{std::move(what), start_ms}, std::move(audit), [&](const Result<void>& done) {
            answer = done ? "ok" : std::string(done.error().code.name());
            heard_at_answer_ = heard_.size();
        });
        EXPECT_TRUE(answer);
        return answer.value_or("no answer");
    }
    std::string entry_of_another(AuthChange::What what, std::uint64_t version) {
        const AuthChange change{std::move(what), start_ms};
        return encode_command({++foreign_id_, std::nullopt}, AuthCommand{version, change});
    }
    const auth::AuthState& state() const { return agreement_.state().auth(); }

    std::vector<std::uint64_t> heard_;
    std::size_t heard_at_answer_ = 0;
    std::uint64_t foreign_id_ = 1'000'000;
    authority::Desk desk_;
    Agreement agreement_{Agreement::Parts{.reserves_tokens = false, .on_auth = [this](const auth::AuthState& state) {
                                              heard_.push_back(state.version());
                                          }}};
    TestLog log_{agreement_.machine()};
};

TEST_F(AgreementAuth, makes_a_change_that_is_in_force_before_it_is_answered) {
    EXPECT_EQ(submit(auth::CreatePrincipal{"anna"}), "ok");
    EXPECT_NE(state().principal("anna"), nullptr);
    EXPECT_EQ(heard_, std::vector<std::uint64_t>{state().version()});
    EXPECT_EQ(heard_at_answer_, 1U);
}

TEST_F(AgreementAuth, answers_why_a_change_is_refused) {
    EXPECT_EQ(submit(auth::CreatePrincipal{"root"}), "principal_exists");
    EXPECT_EQ(submit(auth::GrantRole{"anna", "reader"}), "unknown_principal");
    EXPECT_EQ(submit(auth::RemovePrincipal{"root"}), "no_admin");
    EXPECT_TRUE(heard_.empty());
}

TEST_F(AgreementAuth, tells_of_changes_through_other_servers) {
    log_.receive(entry_of_another(auth::CreatePrincipal{"anna"}, state().version()));
    EXPECT_EQ(heard_, std::vector<std::uint64_t>{state().version()});
    EXPECT_NE(state().principal("anna"), nullptr);
}

TEST_F(AgreementAuth, makes_a_change_again_that_met_one_of_another_server) {
    log_.others = {entry_of_another(auth::CreatePrincipal{"bert"}, state().version())};
    EXPECT_EQ(submit(auth::CreatePrincipal{"anna"}), "ok");
    EXPECT_EQ(log_.appended, 2);
    EXPECT_NE(state().principal("anna"), nullptr);
    EXPECT_NE(state().principal("bert"), nullptr);
}

TEST_F(AgreementAuth, answers_what_the_other_server_has_made_of_it) {
    log_.others = {entry_of_another(auth::CreatePrincipal{"anna"}, state().version())};
    EXPECT_EQ(submit(auth::CreatePrincipal{"anna"}), "principal_exists");
}

TEST_F(AgreementAuth, gives_up_on_a_change_that_meets_one_after_the_other) {
    log_.before_append = [this, number = 0]() mutable {
        const std::string name = "p" + std::to_string(++number);
        log_.receive(entry_of_another(auth::CreatePrincipal{name}, state().version()));
    };
    EXPECT_EQ(submit(auth::CreatePrincipal{"anna"}), "unavailable");
    EXPECT_EQ(log_.appended, 16);
    EXPECT_EQ(state().principal("anna"), nullptr);
}

TEST_F(AgreementAuth, answers_that_a_change_took_effect_though_its_entry_was_appended_twice) {
    log_.copies = 2;
    EXPECT_EQ(submit(auth::CreatePrincipal{"anna"}), "ok");
    EXPECT_EQ(log_.appended, 1);
}

TEST_F(AgreementAuth, finds_in_a_snapshot_whether_a_change_took_effect) {
    const store::AuditEntry audit{"root", 7, "create principal anna"};
    const AuthChange change{auth::CreatePrincipal{"anna"}, start_ms};
    ClusterState with({});
    ASSERT_TRUE(with.install(agreement_.state().snapshot()));
    const std::string without = with.snapshot();
    with.apply(1, encode_command({1, audit}, AuthCommand{with.auth().version(), change}));
    log_.snapshot = without;
    EXPECT_EQ(submit(change.what, audit), "unavailable") << "nobody knows";
    log_.snapshot = with.snapshot();
    EXPECT_EQ(submit(change.what, audit), "ok");
    EXPECT_EQ(heard_.back(), with.auth().version());
    EXPECT_EQ(heard_at_answer_, heard_.size());
}

TEST_F(AgreementAuth, audits_a_change_with_it) {
    EXPECT_EQ(submit(auth::CreatePrincipal{"anna"}, store::AuditEntry{"root", 7, "create principal anna"}), "ok");
    EXPECT_EQ(submit(auth::CreatePrincipal{"anna"}, store::AuditEntry{"root", 8, "create principal anna"}),
              "principal_exists");
    const store::AuditPage page = agreement_.audit(0, 10);
    ASSERT_EQ(page.lines.size(), 1U);
    EXPECT_EQ(page.lines[0].entry.at_wall_ms, 7);
}

TEST_F(AgreementAuth, refuses_a_change_that_the_log_does_not_take) {
    log_.copies = 0;
    log_.outcome = Error{Code::unavailable, "no majority"};
    EXPECT_EQ(submit(auth::CreatePrincipal{"anna"}), "unavailable");
    agreement_.stop();
    EXPECT_EQ(submit(auth::CreatePrincipal{"anna"}), "unavailable");
    EXPECT_TRUE(heard_.empty());
}

TEST(AgreementOfNodes, knows_on_all_nodes_who_may_do_what) {  // A7: as far as the log reaches
    Nodes nodes(3);
    nodes.leader();
    const auto submit = [&](std::size_t node, AuthChange::What what) {
        std::optional<std::string> answer;
        nodes.agreement(node).submit(
            AuthChange{std::move(what), start_ms}, std::nullopt,
            [&](const Result<void>& done) { answer = done ? "ok" : std::string(done.error().code.name()); });
        EXPECT_TRUE(nodes.until([&] { return answer.has_value(); }));
        return answer.value_or("no answer");
    };
    ASSERT_EQ(submit(0, auth::CreatePrincipal{"root", {"admin"}, auth::issued(1)}), "ok");
    ASSERT_EQ(submit(1, auth::EnableAuth{}), "ok") << "through a node that may not have heard of root yet";
    const auto login = [&](std::size_t node) {
        return auth::log_in(nodes.agreement(node).state().auth(), auth::numbered_token(1).text, start_ms);
    };
    for (std::size_t node = 0; node < 3; ++node)
        EXPECT_TRUE(nodes.until([&] { return std::holds_alternative<auth::Login>(login(node)); }));
    ASSERT_EQ(submit(2, auth::RotateApiToken{"root", auth::issued(2)}), "ok");
    for (std::size_t node = 0; node < 3; ++node)
        EXPECT_TRUE(nodes.until([&] { return login(node) == auth::LoginResult(auth::LoginFailure::revoked); }));
    nodes.restart(1);
    EXPECT_NE(nodes.agreement(1).state().auth().principal("root"), nullptr) << "it is on its disk";
    EXPECT_TRUE(nodes.until([&] { return nodes.agreement(1).state().auth() == nodes.agreement(0).state().auth(); }));
}

}  // namespace
}  // namespace holdfast::agreed
