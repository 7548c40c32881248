#include "discovery/relay/session_table.h"

namespace holdfast::discovery::relay {

void SessionTable::list(RelaySession& session, Role role) {
    remove(session);
    session.role = role;
    switch (role) {
        case Role::stranger:
            strangers_.emplace(session.id(), &session);
            session.deadline = session.now() + timeouts_.stranger;
            return;
        case Role::publisher:
            ++publishers_;
            session.deadline = session.now() + timeouts_.publisher;
            return;
        case Role::consumer:
            session.deadline = RelaySession::Clock::time_point::max();
            return;
        case Role::leaving:
            return session.finish();
    }
}

void SessionTable::remove(RelaySession& session) {
    strangers_.erase(session.id());
    if (session.role == Role::publisher) --publishers_;
}

int SessionTable::hand_over(RelaySession& session) {
    remove(session);
    return session.release();
}

}  // namespace holdfast::discovery::relay
