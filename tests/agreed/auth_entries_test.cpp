// Access control as entries of the log: what they carry, and that the same entries make the same state.

#include <gtest/gtest.h>

#include "agreed/cluster_state.h"
#include "auth/limits.h"
#include "auth/world.h"
#include "base/random.h"
#include "consensus/replicated_log.h"
#include "log.pb.h"

namespace holdfast::agreed {
namespace {

using auth::AuthChange;
using auth::AuthState;
using auth::start_ms;

/// A state with the entries that made it.
class AuthEntries : public testing::Test {
 protected:
    std::string entry_of(AuthChange::What what, std::optional<std::uint64_t> base_version = std::nullopt) {
        const AuthChange change{std::move(what), now_};
        return encode_command({++id_, std::nullopt},
                              AuthCommand{base_version.value_or(state_.auth().version()), change});
    }
    std::string apply(std::string entry) {
        entries_.push_back(std::move(entry));
        state_.apply(entries_.size(), entries_.back());
        if (results_.back() == CommandOutcome::applied) return "ok";
        if (results_.back() == CommandOutcome::conflict) return "conflict";
        return results_.back().why ? std::string(results_.back().why->code.name()) : "refused";
    }
    std::string run(AuthChange::What what) { return apply(entry_of(std::move(what))); }

    void enable() {
        ASSERT_EQ(run(auth::CreatePrincipal{"root", {"admin"}, auth::issued(1)}), "ok");
        ASSERT_EQ(run(auth::EnableAuth{}), "ok");
    }

    std::uint64_t id_ = 0;
    std::int64_t now_ = start_ms;
    std::vector<std::string> entries_;
    std::vector<CommandResult> results_;
    std::vector<std::uint64_t> heard_;  // versions
    ClusterState state_{
        {.command_done = [this](std::uint64_t, const CommandResult& result) { results_.push_back(result); },
         .auth_changed = [this](const AuthState& state) { heard_.push_back(state.version()); }}};
};

TEST_F(AuthEntries, carry_changes_of_every_kind) {
    AuthState expected;
    const std::vector<AuthChange::What> changes{
        auth::CreatePrincipal{"root", {"admin", "reader"}, auth::issued(1, start_ms + 1000)},
        auth::CreatePrincipal{"anna"},
        auth::PutRole{{"ops",
                       {auth::granted({auth::Verb::hold, auth::Verb::metrics}, "*"),
                        auth::granted({auth::Verb::hold}, "team", "FILE:/a", {"x/*", "y"})}}},
        auth::PutRole{{"gone", {}}},
        auth::RemoveRole{"gone"},
        auth::GrantRole{"anna", "ops"},
        auth::GrantRole{"anna", "reader"},
        auth::RevokeRole{"anna", "reader"},
        auth::AddApiToken{"anna", auth::issued(2, start_ms + 500)},
        auth::RotateApiToken{"anna", auth::issued(3), 200ms},
        auth::RevokeApiToken{auth::numbered_token(2).token.id},
        auth::MapCertificate{"spiffe://p/*", "anna"},
        auth::MapCertificate{"*.example", "anna"},
        auth::UnmapCertificate{"*.example"},
        auth::EnableAuth{},
        auth::CreatePrincipal{"bert"},
        auth::RemovePrincipal{"bert"},
        auth::DisableAuth{}};
    std::set<std::size_t> kinds;
    for (const AuthChange::What& change : changes) {
        kinds.insert(change.index());
        ASSERT_EQ(auth::outcome(expected, change), "ok") << auth::describe({change, start_ms});
        ASSERT_EQ(run(change), "ok") << auth::describe({change, start_ms});
        ASSERT_EQ(state_.auth(), expected) << auth::describe({change, start_ms});
    }
    EXPECT_EQ(kinds.size(), std::variant_size_v<AuthChange::What>);
    EXPECT_EQ(heard_.size(), changes.size());
    EXPECT_EQ(heard_.back(), changes.size());
}

TEST_F(AuthEntries, say_why_a_change_is_refused_and_change_nothing_then) {
    enable();
    const AuthState before = state_.auth();
    const std::size_t heard = heard_.size();
    EXPECT_EQ(run(auth::RemovePrincipal{"root"}), "no_admin");
    EXPECT_EQ(run(auth::GrantRole{"anna", "admin"}), "unknown_principal");
    EXPECT_EQ(run(auth::CreatePrincipal{"root"}), "principal_exists");
    EXPECT_EQ(state_.auth(), before);
    EXPECT_EQ(heard_.size(), heard);
}

TEST_F(AuthEntries, take_effect_only_on_the_version_they_were_made_from) {
    enable();
    const std::string first = entry_of(auth::CreatePrincipal{"anna"});
    const std::string second = entry_of(auth::CreatePrincipal{"bert"});
    EXPECT_EQ(apply(first), "ok");
    EXPECT_EQ(apply(second), "conflict");
    EXPECT_EQ(state_.auth().principal("bert"), nullptr);
}

TEST_F(AuthEntries, of_a_grant_that_come_late_for_the_second_time_restore_nothing_that_was_revoked) {
    enable();
    ASSERT_EQ(run(auth::CreatePrincipal{"anna"}), "ok");
    const std::string grant = entry_of(auth::GrantRole{"anna", "admin"});
    ASSERT_EQ(apply(grant), "ok");
    ASSERT_EQ(run(auth::RevokeRole{"anna", "admin"}), "ok");
    EXPECT_EQ(apply(grant), "conflict");
    EXPECT_TRUE(state_.auth().principal("anna")->roles.empty());
}

TEST_F(AuthEntries, are_audited_with_what_took_effect) {
    const store::AuditEntry audit{"root", 7, "create principal anna"};
    const AuthChange change{auth::CreatePrincipal{"anna"}, now_};
    const std::string entry = encode_command({1, audit}, AuthCommand{0, change});
    EXPECT_EQ(apply(entry), "ok");
    EXPECT_EQ(apply(entry), "conflict");
    ASSERT_EQ(state_.audit().size(), 1U);
    EXPECT_EQ(state_.audit()[0], audit);
}

TEST_F(AuthEntries, of_a_newer_version_are_trouble) {
    const auto trouble_of = [](const std::function<void(pb::AuthChange&)>& fill) {
        pb::Command command;
        fill(*command.mutable_auth());
        ClusterState state({});
        state.apply(1, command.SerializeAsString());
        EXPECT_EQ(state.auth(), AuthState());
        return state.trouble() ? std::string(state.trouble()->code.name()) : "";
    };
    EXPECT_EQ(trouble_of([](pb::AuthChange& change) { change.set_remove_role("x"); }), "")
        << "a role that is not there";
    EXPECT_EQ(trouble_of([](pb::AuthChange&) {}), "state_too_new") << "no change that this version knows";
    EXPECT_EQ(trouble_of([](pb::AuthChange& change) {
                  pb::Role& role = *change.mutable_put_role();
                  role.set_name("r");
                  role.add_grants()->set_verbs(1U << auth::verb_count);
                  role.mutable_grants(0)->set_name_space("*");
              }),
              "state_too_new")
        << "an unknown verb";
    EXPECT_EQ(trouble_of([](pb::AuthChange& change) {
                  change.mutable_add_api_token()->set_principal("x");
                  change.mutable_add_api_token()->mutable_token()->set_sha256("short");
              }),
              "state_too_new")
        << "another kind of hash";
}

TEST_F(AuthEntries, are_in_a_snapshot_with_everything) {
    enable();
    ASSERT_EQ(run(auth::PutRole{{"ops", {auth::granted({auth::Verb::hold}, "team", "job:", {"x"})}}}), "ok");
    ASSERT_EQ(run(auth::CreatePrincipal{"anna", {"ops"}, auth::issued(2, start_ms + 5)}), "ok");
    ASSERT_EQ(run(auth::RotateApiToken{"anna", auth::issued(3)}), "ok");
    ASSERT_EQ(run(auth::MapCertificate{"a.example", "anna"}), "ok");
    bool replaced = false;
    ClusterState other({.replaced = [&] { replaced = true; }});
    ASSERT_TRUE(other.install(state_.snapshot()));
    EXPECT_TRUE(replaced);
    EXPECT_EQ(other.auth(), state_.auth());
    EXPECT_EQ(other.snapshot(), state_.snapshot());
}

TEST_F(AuthEntries, a_snapshot_of_a_state_without_them_is_as_it_always_was) {
    pb::State in;
    ASSERT_TRUE(in.ParseFromString(state_.snapshot()));
    EXPECT_FALSE(in.has_auth());
    enable();
    ASSERT_TRUE(in.ParseFromString(state_.snapshot()));
    EXPECT_TRUE(in.has_auth());
    in.clear_auth();
    ASSERT_TRUE(state_.install(in.SerializeAsString())) << "one of a version that knew nothing of access control";
    EXPECT_EQ(state_.auth(), AuthState());
}

TEST_F(AuthEntries, a_snapshot_that_violates_an_invariant_is_not_installed) {
    enable();
    const std::string good = state_.snapshot();
    const auto refuses = [&](const std::function<void(pb::Auth&)>& spoil) {
        pb::State in;
        EXPECT_TRUE(in.ParseFromString(good));
        spoil(*in.mutable_auth());
        const auto installed = state_.install(in.SerializeAsString());
        EXPECT_EQ(state_.snapshot(), good);
        return !installed && installed.error().code == Code::state_corrupt;
    };
    EXPECT_FALSE(refuses([](pb::Auth&) {}));
    EXPECT_TRUE(refuses([](pb::Auth& in) { in.mutable_principals(0)->add_roles("gone"); }));
    EXPECT_TRUE(refuses([](pb::Auth& in) { *in.add_principals() = in.principals(0); }));
    EXPECT_TRUE(refuses([](pb::Auth& in) { in.mutable_principals(0)->mutable_api_tokens(0)->set_sha256("x"); }));
    EXPECT_TRUE(refuses([](pb::Auth& in) { in.add_roles()->set_name("admin"); }));
    EXPECT_TRUE(refuses([](pb::Auth& in) {
        pb::Role& role = *in.add_roles();
        role.set_name("r");
        role.add_grants()->set_verbs(~0U);
    }));
    EXPECT_TRUE(refuses([](pb::Auth& in) { in.add_mappings()->set_pattern("a.example"); }));
    EXPECT_TRUE(refuses([](pb::Auth& in) {
        for (int i = 0; i < 2; ++i) {
            in.add_mappings()->set_pattern("a.example");
            in.mutable_mappings(i)->set_principal("root");
        }
    }));
}

TEST_F(AuthEntries, take_no_more_room_in_a_snapshot_than_the_state_counts) {
    const auto role = [](std::size_t number) {
        auth::Role made{"r" + std::to_string(number), {}};
        for (std::size_t i = 0; i < auth::limits::grants_per_role; ++i)
            made.grants.push_back({auth::Verbs::all(), "*", "", {std::to_string(i), "x", "y", "z"}});
        return made;
    };
    std::size_t roles = 0;
    for (; roles < 100; ++roles)
        ASSERT_EQ(run(auth::PutRole{role(roles)}), "ok");
    std::uint64_t number = 0;
    std::string code = "ok";
    for (; code == "ok" && number < 2 * auth::limits::principals; number += 2) {
        const std::string name = "p" + std::to_string(number);
        code = run(auth::CreatePrincipal{name, {"reader", "r1"}, auth::issued(number, auth::start_ms * 2)});
        if (code == "ok") code = run(auth::RotateApiToken{name, auth::issued(number + 1), 1h});
        if (code == "ok") code = run(auth::MapCertificate{"h" + std::to_string(number) + ".example", name});
    }
    EXPECT_EQ(code, "auth_full");
    EXPECT_GT(number, 2000U) << "it was not full of something else";
    pb::State in;
    ASSERT_TRUE(in.ParseFromString(state_.snapshot()));
    EXPECT_LE(in.auth().ByteSizeLong(), state_.auth().bytes());
    EXPECT_GT(in.auth().ByteSizeLong(), auth::limits::state_bytes / 2);
    EXPECT_LE(state_.auth().bytes(), auth::limits::state_bytes);
}

AuthChange::What random_change(Random& random, std::uint64_t& tokens) {
    const auto any = [&](auto... of) {
        const std::vector<std::string> all{of...};
        return all[random.below(all.size())];
    };
    const std::string principal = any("root", "anna", "bert"), role = any("admin", "reader", "ops", "dev");
    const auto token = [&] {
        return auth::issued(++tokens,
                            random.below(2) == 0 ? std::nullopt : std::optional<std::int64_t>(start_ms + 500));
    };
    switch (random.below(13)) {
        case 0:
        case 1:
            return auth::CreatePrincipal{principal, {role}, token()};
        case 2:
            return auth::RemovePrincipal{principal};
        case 3:
            return auth::PutRole{{role, {auth::granted({auth::Verb::read}, any("*", "team"), any("", "FILE:/a"))}}};
        case 4:
            return auth::RemoveRole{role};
        case 5:
            return auth::GrantRole{principal, role};
        case 6:
            return auth::RevokeRole{principal, role};
        case 7:
            return auth::AddApiToken{principal, token()};
        case 8:
            return auth::RotateApiToken{principal, token(), random.below(2) * 10ms};
        case 9:
            return auth::RevokeApiToken{auth::numbered_token(random.below(tokens + 1)).token.id};
        case 10:
            return auth::MapCertificate{any("a.example", "*.example"), principal};
        case 11:
            return auth::UnmapCertificate{any("a.example", "*.example")};
        default:
            break;
    }
    if (random.below(2) == 0) return auth::EnableAuth{};
    return auth::DisableAuth{};
}

TEST_F(AuthEntries, make_the_same_state_on_every_node_with_a_snapshot_in_between_or_without) {
    long applied = 0, conflicts = 0;
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        Random random(seed);
        std::uint64_t tokens = 0;
        ClusterState first({.command_done = [&](std::uint64_t, const CommandResult& result) {
            applied += result == CommandOutcome::applied;
            conflicts += result == CommandOutcome::conflict;
        }});
        ClusterState second({}), late({});
        const std::uint64_t joins = random.below(60);
        for (std::uint64_t index = 1; index <= 60; ++index) {
            if (index == joins) {
                ASSERT_TRUE(late.install(first.snapshot())) << "seed " << seed;
            }
            const AuthChange change{random_change(random, tokens),
                                    start_ms + static_cast<std::int64_t>(random.below(1000))};
            // Sometimes made from a version that is no longer the newest.
            const std::uint64_t base =
                first.auth().version() - std::min<std::uint64_t>(first.auth().version(), random.below(5) == 0);
            const std::string entry = encode_command({index, std::nullopt}, AuthCommand{base, change});
            for (ClusterState* node : {&first, &second, &late})
                if (node != &late || index >= joins) node->apply(index, entry);
        }
        ASSERT_EQ(first.auth(), second.auth()) << "seed " << seed;
        ASSERT_EQ(first.snapshot(), second.snapshot()) << "seed " << seed;
        if (joins > 0) {
            ASSERT_EQ(first.auth(), late.auth()) << "seed " << seed;
            ASSERT_EQ(first.snapshot(), late.snapshot()) << "seed " << seed;
        }
    }
    EXPECT_GT(applied, 3000) << "too little happened to prove anything";
    EXPECT_GT(conflicts, 1000);
}

}  // namespace
}  // namespace holdfast::agreed
