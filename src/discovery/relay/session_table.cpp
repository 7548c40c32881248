#include "discovery/relay/session_table.h"

#include <utility>

namespace holdfast::discovery::relay {

using Clock = std::chrono::steady_clock;

RelaySession& SessionTable::add(std::unique_ptr<RelaySession> session) {
    RelaySession& added = *session;
    sessions_.emplace(added.id(), std::move(session));
    list(added, Role::stranger);
    return added;
}

RelaySession* SessionTable::find(std::uint64_t id) const {
    RelaySession* session = find_departed(id);
    return session == nullptr || session->is_departed ? nullptr : session;
}

RelaySession* SessionTable::find_departed(std::uint64_t id) const {
    const auto found = sessions_.find(id);
    return found == sessions_.end() ? nullptr : found->second.get();
}

void SessionTable::list(RelaySession& session, Role role) {
    session.role = role;
    switch (role) {
        case Role::stranger:
            return list_in(strangers_, session, timeouts_.stranger);
        case Role::publisher:
            return list_in(publishers_, session, timeouts_.publisher);
        case Role::consumer:
            return unlist(session);
        case Role::leaving:
            return list_in(leaving_, session, timeouts_.leaving);
    }
}

void SessionTable::list_in(DeadlineList& list, RelaySession& session, Duration timeout) {
    session.deadline = Clock::now() + timeout;
    if (session.listed_in == &list) return list.splice(list.end(), list, session.listed_at);
    unlist(session);
    session.listed_in = &list;
    session.listed_at = list.insert(list.end(), &session);
}

void SessionTable::unlist(RelaySession& session) {
    if (session.listed_in != nullptr) std::exchange(session.listed_in, nullptr)->erase(session.listed_at);
}

void SessionTable::remove(RelaySession& session) {
    unlist(session);
    turns_.keep(std::move(sessions_.extract(session.id()).mapped()));
}

int SessionTable::hand_over(RelaySession& session) {
    remove(session);
    return session.release();
}

void SessionTable::close(RelaySession& session) {
    remove(session);
    session.close();
}

std::vector<RelaySession*> SessionTable::overdue(std::size_t most) const {
    const auto now = Clock::now();
    std::vector<RelaySession*> found;
    for (const DeadlineList* list : {&strangers_, &publishers_, &leaving_}) {
        std::size_t left = most;
        for (auto at = list->begin(); at != list->end() && left > 0 && now >= (*at)->deadline; ++at, --left)
            found.push_back(*at);
    }
    return found;
}

}  // namespace holdfast::discovery::relay
