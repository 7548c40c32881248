#include "discovery/relay/relay_protocol.h"

#include "base/code.h"
#include "base/random.h"

namespace holdfast::discovery::relay {
namespace {

using Role = RelaySession::Role;

std::string new_ticket() {
    std::string ticket;
    while (ticket.size() < ticket_bytes) {
        const std::uint64_t random = random_seed();
        ticket.append(reinterpret_cast<const char*>(&random), sizeof random);
    }
    return ticket;
}

/// The messages that a connection may send, by its role.
bool is_expected(Role role, const Message& message) {
    if (role == Role::publisher)
        return std::holds_alternative<SignedUpdate>(message) || std::holds_alternative<StreamRefused>(message);
    return std::holds_alternative<PublisherHello>(message) || std::holds_alternative<StreamRequest>(message) ||
           std::holds_alternative<StreamAccept>(message);
}

constexpr std::size_t max_words_bytes = 32 * 1024;
constexpr std::size_t max_notices_bytes = 128 * 1024;

constexpr std::string_view no_version = "the message names no version of the protocol";

}  // namespace

bool RelayProtocol::handle(RelaySession& session, Message message) {
    if (!is_expected(session.role, message)) {
        fail(session, Code::malformed, "this message is not expected here");
        return false;
    }
    if (auto* update = std::get_if<SignedUpdate>(&message)) {
        on(session, *update);
        return true;
    }
    if (auto* refused = std::get_if<StreamRefused>(&message)) on(session, *refused);
    if (auto* hello = std::get_if<PublisherHello>(&message)) on(session, *hello);
    if (auto* request = std::get_if<StreamRequest>(&message)) on(session, std::move(*request));
    if (auto* accept = std::get_if<StreamAccept>(&message)) on(session, *accept);
    return false;
}

void RelayProtocol::fail(RelaySession& session, const ErrorCode& code, std::string_view message,
                         std::string_view relay) {
    forget(session.id(), session.role);
    session.append(StreamFailed{code, std::string(message), std::string(relay)});
    sessions_.list(session, Role::leaving);
}

void RelayProtocol::fail_consumer(std::uint64_t consumer, const ErrorCode& code, std::string_view message) {
    if (RelaySession* session = sessions_.find(consumer)) fail(*session, code, message);
}

// ---- publishers ----

void RelayProtocol::on(RelaySession& session, const PublisherHello& hello) {
    if (hello.version == 0) return fail(session, Code::malformed, no_version);
    if (stopping_) return fail(session, Code::stopping, "the relay is about to stop");
    session.append(
        RelayHello{.version = protocol_version, .relay = directory_.relay(), .time_ms = directory_.relay_time_ms()});
    session.knows_may_retry = hello.knows_may_retry;
    sessions_.list(session, Role::publisher);
    if (sessions_.publishers() > max_publishers_)
        fail(session, Code::too_many_publishers, "the relay has reached its limit of publishers");
}

void RelayProtocol::on(RelaySession& session, const SignedUpdate& update) {
    sessions_.list(session, Role::publisher);
    ++session.under_way;
    const authority::Caller caller{.address = session.peer(), .connection = session.id()};
    const auto answer = [self = weak_from_this(), id = session.id(), number = update.number](UpdateResponse response) {
        response.number = number;
        if (const auto protocol = self.lock()) protocol->answer(id, std::move(response));
    };
    directory_.update(update, caller, answer);
}

void RelayProtocol::answer(std::uint64_t id, UpdateResponse response) {
    RelaySession* session = sessions_.find(id);
    if (session == nullptr) return;  // the directory releases the leases it registered meanwhile
    --session->under_way;
    if (session->role != Role::publisher) return;
    session->append(std::move(response));
    session->wake();
}

void RelayProtocol::withdraw(const directory::Withdrawal& withdrawal) {
    RelaySession* session = sessions_.find(withdrawal.connection);
    if (session == nullptr || session->role != Role::publisher) return;
    // Leaves the text out if much is unread already, since a publisher with too much unread is disconnected.
    const std::string& message = session->unsent() < max_words_bytes ? withdrawal.message : std::string();
    session->append(Withdrawn{withdrawal.name, withdrawal.token, withdrawal.code, message});
    session->wake();
}

void RelayProtocol::may_retry(const directory::RetryNotice& notice) {
    RelaySession* session = sessions_.find(notice.connection);
    if (session == nullptr || session->role != Role::publisher || !session->knows_may_retry) return;
    if (session->unsent() > max_notices_bytes) return;  // it retries by itself later
    session->append(MayRetry{notice.name, notice.within});
    session->wake();
}

void RelayProtocol::on(RelaySession& session, const StreamRefused& refused) {
    sessions_.list(session, Role::publisher);
    // An unknown offer has expired, or its consumer is gone: ignore it.
    const auto offer = book_.refuse(refused.ticket, session.id());
    if (!offer) return;
    if (refused.not_held) directory_.not_served(offer->service, session.id());
    fail_consumer(offer->consumer, Code::refused, refused.message);
}

// ---- streams ----

void RelayProtocol::on(RelaySession& session, StreamRequest request) {
    if (request.version == 0) return fail(session, Code::malformed, no_version);
    if (stopping_) return fail(session, Code::stopping, "the relay is about to stop");
    sessions_.list(session, Role::consumer);
    const auto served = directory_.served(request.name);
    if (served && sessions_.find(served->connection) != nullptr) return offer(session, *served);
    explain(session, std::move(request.name));
}

void RelayProtocol::offer(RelaySession& consumer, const directory::Directory::Served& served) {
    const std::string ticket = new_ticket();
    if (!book_.offer({consumer.id(), served.connection, served.name, served.identity}, ticket, now))
        return fail(consumer, Code::too_many_streams, "this service has reached its limit of streams; try again later");
    RelaySession& publisher = *sessions_.find(served.connection);
    publisher.append(StreamOffer{ticket, served.name, consumer.peer()});
    publisher.wake();
}

/// Tells the consumer why the service cannot be reached here.
void RelayProtocol::explain(RelaySession& consumer, std::string name) {
    directory_.find(std::move(name), [self = weak_from_this(),
                                      id = consumer.id()](authority::Answer<directory::ServiceEntry> found) {
        const auto protocol = self.lock();
        if (!protocol) return;
        RelaySession* session = protocol->sessions_.find(id);
        if (session == nullptr) return;
        const auto* entry = std::get_if<directory::ServiceEntry>(&found);
        if (entry == nullptr)
            return protocol->fail(*session, Code::unknown_service, "nobody advertises a service of this name");
        if (!entry->relay.empty() && entry->relay != protocol->directory_.relay_address())
            return protocol->fail(*session, Code::elsewhere, "its publisher is connected to another relay",
                                  entry->relay);
        protocol->fail(*session, Code::not_connected,
                       entry->relay.empty() ? "its publisher is not connected to a relay that can be reached"
                                            : "its publisher is connected, but has not been heard from lately");
    });
}

void RelayProtocol::on(RelaySession& session, const StreamAccept& accept) {
    if (accept.version == 0) return fail(session, Code::malformed, no_version);
    const auto opened = book_.redeem(accept.ticket, now);
    RelaySession* consumer = opened ? sessions_.find(opened->consumer) : nullptr;
    if (consumer == nullptr) {
        if (opened) book_.ended(opened->stream);
        return fail(session, Code::unknown_ticket, "the ticket is not known, has expired or was used");
    }
    join(*consumer, session, *opened);
}

void RelayProtocol::join(RelaySession& consumer, RelaySession& data, const StreamTable::Opened& opened) {
    JoinedSockets joined{.id = opened.stream, .service = opened.service, .identity = opened.identity};
    const std::string from_consumer = consumer.take_input(), from_publisher = data.take_input();
    for (const auto& share : {joined.service, joined.identity}) {
        share->to_publisher += from_consumer.size();
        share->to_consumer += from_publisher.size();
    }
    append_frame(StreamOpened{}, joined.for_consumer);
    joined.for_publisher = joined.for_consumer + from_consumer;
    joined.for_consumer += from_publisher;
    joined.consumer = sessions_.hand_over(consumer);
    joined.publisher = sessions_.hand_over(data);
    pump_.join(std::move(joined));
}

// ---- closing ----

void RelayProtocol::forget(std::uint64_t session, RelaySession::Role role) {
    if (role == Role::consumer) book_.give_up(session);
    if (role != Role::publisher) return;
    for (const std::uint64_t consumer : book_.publisher_gone(session))
        fail_consumer(consumer, Code::not_connected, "its publisher has just left");
    if (!stopping_) directory_.connection_closed(session);
}

void RelayProtocol::advance(StreamTable::Time time, std::size_t most) {
    now = time;
    for (const std::uint64_t consumer : book_.advance(time, most))
        fail_consumer(consumer, Code::no_answer, "its publisher did not answer in time");
}

}  // namespace holdfast::discovery::relay
