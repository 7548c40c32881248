#include "doors/resp/exchange.h"

#include "doors/resp/slot.h"
#include "net/peer_watch.h"

namespace holdfast {
namespace {

template <class Slot, class Exchange>
Slot& slot_of(Exchange& exchange) {
    return static_cast<Slot&>(exchange);
}

}  // namespace

resp::ReplyWriter Exchange::reply() {
    auto& slot = slot_of<RespSession::Slot>(*this);
    return {slot.direct ? slot.owner.output_ : slot.kept, slot.owner.client_.protocol};
}

void Exchange::finish() {
    auto& slot = slot_of<RespSession::Slot>(*this);
    slot.owner.finished(slot);
}

void Exchange::waits(std::uint64_t ticket, Duration progress) {
    auto& slot = slot_of<RespSession::Slot>(*this);
    slot.ticket = ticket;
    if (ticket == 0) return;
    slot.owner.watch_closely();
    if (progress > Duration::zero()) slot.owner.show_progress(progress);
}

bool Exchange::reachable() const {
    const RespSession& session = slot_of<const RespSession::Slot>(*this).owner;
    return !session.is_gone() && !session.is_closed() && peer_is_there(session.socket());
}

bool Exchange::gone() const {
    return slot_of<const RespSession::Slot>(*this).owner.is_gone();
}

RespSession& Exchange::session() {
    return slot_of<RespSession::Slot>(*this).owner;
}

core::Authority& Exchange::authority() {
    return session().parts().authority;
}

void ok(Exchange& exchange) {
    exchange.reply().simple("OK");
    exchange.finish();
}

void fail(Exchange& exchange, std::string_view code, std::string_view message) {
    exchange.reply().error(code, message);
    exchange.finish();
}

void fail(Exchange& exchange, std::string_view message) {
    fail(exchange, "ERR", message);
}

}  // namespace holdfast
