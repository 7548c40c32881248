#include "doors/peer/peer_link.h"

#include "base/clock.h"

namespace holdfast::doors::peer {
namespace {

constexpr std::size_t content_bytes = 1024 * 1024;  // limit of a frame, unless it holds a single message
constexpr std::uint64_t max_silent_ms = 30ULL * 24 * 3600 * 1000;
constexpr std::size_t max_sealed_bytes = codec::peer::max_frame_bytes + Hmac::bytes;
constexpr std::size_t max_input_bytes = max_sealed_bytes + codec::frame_header_bytes;

}  // namespace

PeerLink::PeerLink(net::Admitted admitted, std::optional<store::quorum::NodeIndex> dialled, Parts parts)
    : Connection(std::move(admitted), {max_input_bytes, parts.limits.dead_after}),
      dialled_(dialled),
      parts_(parts),
      handshake_(dialled ? Handshake::Side::connector : Handshake::Side::acceptor, parts.terms, random_bytes(32),
                 [this](Life peer) { return parts_.owner.admits(*this, peer); }),
      outbox_(parts.limits.max_queue_bytes) {}

void PeerLink::begin() {
    heard_at_ = store_clock_now();
    output() += handshake_.begin();
    wake();
}

bool PeerLink::run() {
    take_frames();
    if (has_ended()) give_up("the other end closed the connection");
    // Woken by what it received itself, it runs again in this turn, after the other links: one write for all messages.
    if (is_linked()) return false;
    seal();
    return has_content();
}

// ---- input ----

void PeerLink::take_frames() {
    std::vector<codec::peer::Message> messages;
    while (!is_finishing() && !is_giving_up()) {
        std::string_view rest = input();
        const auto body = codec::take_frame(rest, opener_ ? max_sealed_bytes : handshake_frame_bytes);
        if (!body) return give_up(body.error().message);
        if (!*body) break;
        opener_ ? take_content(**body, messages) : shake_hands(**body);
        consume(input().size() - rest.size());
    }
    if (messages.empty() || is_giving_up() || door().is_stopping()) return;
    parts_.node.on_messages(*life_, std::move(messages));
}

void PeerLink::shake_hands(std::string_view body) {
    output() += handshake_.receive(body);
    life_ = handshake_.peer();
    switch (handshake_.state()) {
        case Handshake::State::broken:
            return give_up(handshake_.why_broken());
        case Handshake::State::refused:
            refusal_ = handshake_.refusal();
            parts_.owner.on_refused(*this);
            if (refused_by_peer()) return give_up(std::string(to_string(*refusal_)));
            return finish();  // once the peer has read the reason
        case Handshake::State::done:
            return open();
        case Handshake::State::under_way:
            return;
    }
}

void PeerLink::open() {
    sealer_ = handshake_.take_sealer();
    opener_ = handshake_.take_opener();
    open_since_ = heard_at_ = store_clock_now();
    ping_due_ = true;
    parts_.owner.on_open(*this);
}

void PeerLink::take_content(std::string_view body, std::vector<codec::peer::Message>& messages) {
    const auto content = opener_->open(body);
    if (!content) return give_up("the MAC of a frame does not match");
    auto frame = parts_.decoder.decode(*content);
    if (!frame) return give_up(frame.error().message);
    heard_at_ = store_clock_now();
    counts_.received += frame->messages.size();
    if (frame->rejected > 0) {
        if (counts_.rejected == 0) parts_.owner.on_rejected(*this, frame->why_rejected);
        counts_.rejected += frame->rejected;
    }
    if (messages.empty())
        messages = std::move(frame->messages);
    else
        std::move(frame->messages.begin(), frame->messages.end(), std::back_inserter(messages));
    if (frame->pong != 0) on_pong(frame->pong);
    if (frame->ping != 0) on_ping(*frame);
}

void PeerLink::on_ping(const codec::peer::Frame& frame) {
    const Duration silence = std::chrono::milliseconds(std::min<std::uint64_t>(frame.silent_for_ms, max_silent_ms));
    silent_until_ = heard_at_ + silence;
    pong_ = frame.ping;
    if (door().is_stopping()) return;
    parts_.node.on_silence(life_->node, silence);
    if (!frame.lives.empty()) parts_.node.on_lives(life_->node, frame.lives);
}

void PeerLink::on_pong(std::uint64_t number) {
    if (number != ping_ || answered_) return;
    answered_ = true;
    const Duration sample = store_clock_now() - pinged_at_;
    round_trip_ = round_trip_ ? (*round_trip_ * 7 + sample) / 8 : sample;
}

// ---- output ----

/// Puts what is queued into a frame, unless an earlier one is not sent yet: what is in a frame can no longer be dropped
/// for newer messages.
void PeerLink::seal() {
    if (!sealer_ || unsent() > 0) return;
    content_.clear();
    counts_.sent += outbox_.take(content_, content_bytes);
    if (std::exchange(ping_due_, false)) append_ping();
    if (pong_ != 0) codec::peer::append_pong(std::exchange(pong_, 0), content_);
    if (!content_.empty()) {
        sealer_->append(content_, output());
        ++counts_.writes;
    }
    if (content_.capacity() > 2 * content_bytes) std::string().swap(content_);
    if (stopping_ && outbox_.empty()) finish();
}

void PeerLink::append_ping() {
    codec::peer::append_ping(++ping_, content_);
    if (const Duration silent = parts_.node.silent_for(); silent > Duration::zero())
        codec::peer::append_silence(static_cast<std::uint64_t>(to_ms_up(silent)), content_);
    if (parts_.terms.founders != nullptr) codec::peer::append_lives(parts_.terms.founders->own().lives, content_);
    pinged_at_ = store_clock_now();
    answered_ = false;
}

// ---- time, and the end ----

void PeerLink::on_check(Clock::time_point) {
    const Instant now = store_clock_now();
    if (!sealer_) {
        if (now - heard_at_ >= parts_.limits.handshake_within) give_up("the handshake was not finished in time");
        return;
    }
    if (now - heard_at_ >= parts_.limits.dead_after) return give_up("the other end does not answer");
    if (!answered_ || now - pinged_at_ < parts_.limits.ping_every) return;
    ping_due_ = true;
    wake();
}

void PeerLink::stop() {
    if (!is_open()) return close("this node stops");
    stopping_ = true;
    wake();
}

}  // namespace holdfast::doors::peer
