#include "doors/resp/exchange.h"

#include "doors/resp/session.h"

namespace holdfast::doors::resp {

codec::resp::ReplyWriter Exchange::reply() {
    return {direct_ ? session_.output() : kept_, session_.client_.protocol};
}

void Exchange::finish() {
    session_.finished(*this);
}

void Exchange::go_on(std::function<void()> step) {
    if (session_.is_closed()) return finish();
    session_.steps_.push_back({this, std::move(step)});
    if (!session_.handling_) session_.wake();
}

void Exchange::waits(std::uint64_t ticket, Duration progress) {
    ticket_ = ticket;
    if (ticket == 0) return;
    session_.watch_closely();
    if (progress > Duration::zero()) session_.show_progress(progress);
}

bool Exchange::reachable() const {
    return !session_.is_gone() && session_.peer_is_there();
}

bool Exchange::gone() const {
    return session_.is_gone();
}

authority::Authority& Exchange::authority() {
    return session_.parts().authority;
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

}  // namespace holdfast::doors::resp
