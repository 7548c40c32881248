#include "sim/admin.h"

namespace holdfast::sim {
namespace {

/// An answer of the authority to a change: it was done, or refused.
template <class AnswerType>
auto tells(std::function<void(bool)> told) {
    return [told = std::move(told)](const authority::Answer<AnswerType>& answer) {
        told(!std::holds_alternative<authority::Refused>(answer));
    };
}

}  // namespace

Admin::Admin(Parts parts)
    : parts_(parts),
      name_("admin" + std::to_string(parts.index)),
      dice_(Dice::part(parts.scenario.seed, 600 + parts.index)) {
    think();
}

void Admin::think() {
    parts_.events.after(dice_.between(50ms, 2500ms), [this] {
        if (last_) return;
        act();
        think();
    });
}

void Admin::act() {
    if (dice_.chance(0.35)) return ban(any_holder());
    if (dice_.chance(0.4)) return unban(any_holder());
    if (dice_.chance(0.7)) return set_ttl_max(dice_.chance(0.4) ? longest_ttl : dice_.between(5s, longest_ttl));
    forget(any_holder());
}

void Admin::submit(const std::string& what, Change change, Told then) {
    ++parts_.work.changes;
    const std::string mark = name_ + '#' + std::to_string(++changes_) + ';';
    const auto node = static_cast<unsigned>(dice_.below(parts_.cluster.size()));
    parts_.trace.note(parts_.events.now(), name_, "asks node ", node, " to ", what, " (", mark, ')');
    const auto heard = [this, mark, then](bool done) {
        parts_.trace.note(parts_.events.now(), name_, done ? "is told that this is done: " : "is refused: ", mark);
        ++(done ? parts_.work.done : parts_.work.unavailable);
        if (done) parts_.log_checker.acknowledged(mark);
        then(done);
    };
    parts_.network.carry(parts_.network.place_of_admin(parts_.index), parts_.network.place_of_node(node),
                         Network::Doubles::never, [this, node, mark, change = std::move(change), heard] {
                             parts_.cluster.node(node).ask([this, node, mark, change, heard](
                                                               authority::Authority& authority, std::uint64_t life) {
                                 authority::Caller by;
                                 by.address = mark;
                                 change(authority, by, [this, node, life, heard](bool done) {
                                     parts_.cluster.node(node).answer(life, parts_.network.place_of_admin(parts_.index),
                                                                      [heard, done] { heard(done); });
                                 });
                             });
                         });
}

void Admin::ban(const std::string& holder) {
    const auto change = [holder](authority::Authority& authority, const authority::Caller& by, const Told& told) {
        authority.ban(holder, {by.address, 0}, tells<lease::Ban>(told), by);
    };
    submit("ban " + holder, change, [this, holder](bool) {
        // Not for long, so that holders make progress.
        parts_.events.after(dice_.between(100ms, 4s), [this, holder] {
            if (!last_) unban(holder);
        });
    });
}

void Admin::unban(const std::string& holder) {
    const auto change = [holder](authority::Authority& authority, const authority::Caller& by, const Told& told) {
        authority.unban(holder, tells<bool>(told), by);
    };
    submit("unban " + holder, change, [](bool) {});
}

void Admin::set_ttl_max(Duration ttl_max) {
    const auto change = [ttl_max](authority::Authority& authority, const authority::Caller& by, const Told& told) {
        authority::PolicyChange wanted;
        wanted.ttl_max = ttl_max;
        authority.change_policy(wanted, tells<lease::Policy>(told), by);
    };
    submit("set ttl_max to " + seconds_text(ttl_max), change, [](bool) {});
}

void Admin::forget(const std::string& agent) {
    const auto change = [agent](authority::Authority& authority, const authority::Caller& by, const Told& told) {
        const auto heard = [told](const authority::Answer<bool>& answer) {
            const auto* was_there = std::get_if<bool>(&answer);
            told(was_there != nullptr && *was_there);  // an unknown agent leaves nothing in the log
        };
        authority.forget_agent(agent, heard, by);
    };
    submit("forget the agent " + agent, change, [](bool) {});
}

void Admin::tidy_up() {
    last_ = true;
    finished_ = parts_.index > 0;
    if (!finished_) tidy_next(0);
}

/// Restores the TTL first, then unbans one holder after the other. Retries each step until it is done.
void Admin::tidy_next(unsigned step) {
    if (step > parts_.scenario.holders) {
        finished_ = true;
        return;
    }
    const auto then = [this, step](bool done) {
        if (done) return tidy_next(step + 1);
        parts_.events.after(200ms, [this, step] { tidy_next(step); });
    };
    const auto change = [step](authority::Authority& authority, const authority::Caller& by, const Told& told) {
        if (step > 0) return authority.unban("h" + std::to_string(step - 1), tells<bool>(told), by);
        authority::PolicyChange wanted;
        wanted.ttl_max = longest_ttl;
        authority.change_policy(wanted, tells<lease::Policy>(told), by);
    };
    submit("tidy up", change, then);
}

}  // namespace holdfast::sim
