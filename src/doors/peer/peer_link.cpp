#include "doors/peer/peer_link.h"

#include <boost/asio/post.hpp>

#include "base/assert.h"

namespace holdfast::doors::peer {
namespace {

using boost::asio::ip::tcp;

constexpr std::size_t input_bytes = 64 * 1024;      // initial size, and the size after a large frame
constexpr std::size_t content_bytes = 1024 * 1024;  // limit of a frame, unless it holds a single message
constexpr std::uint64_t max_silent_ms = 30ULL * 24 * 3600 * 1000;
constexpr std::size_t max_sealed_bytes = codec::peer::max_frame_bytes + Hmac::bytes;

}  // namespace

PeerLink::PeerLink(tcp::socket socket, Handshake::Side side, std::string address, Parts parts)
    : socket_(std::move(socket)),
      timer_(socket_.get_executor()),
      connects_(side == Handshake::Side::connector),
      address_(std::move(address)),
      parts_(parts),
      handshake_(side, parts.terms, random_bytes(32), [this](Life peer) { return parts_.owner.admits(*this, peer); }),
      input_(handshake_frame_bytes + codec::frame_header_bytes, '\0'),
      outbox_(parts.limits.max_queue_bytes) {}

void PeerLink::start() {
    boost::system::error_code ignored;
    socket_.set_option(tcp::no_delay(true), ignored);
    progress_at_ = heard_at_ = parts_.clock();
    next_ = handshake_.begin();
    check_later(parts_.limits.handshake_within);
    write();
    read();
}

// ---- input ----

void PeerLink::read() {
    make_room_to_read();
    socket_.async_read_some(boost::asio::buffer(input_.data() + received_, input_.size() - received_),
                            [self = shared_from_this()](boost::system::error_code error, std::size_t bytes) {
                                if (self->state_ == State::closed) return;
                                if (error == boost::asio::error::eof)
                                    return self->close("the other end closed the connection");
                                if (error) return self->close(error.message());
                                self->on_read(bytes);
                            });
}

/// A frame longer than the buffer grows it as bytes arrive, not by the length it claims.
void PeerLink::make_room_to_read() {
    if (state_ == State::shaking_hands || state_ == State::refusing) return;
    if (input_.size() < input_bytes) return input_.resize(input_bytes);
    if (received_ == input_.size()) return input_.resize(input_.size() * 2);
    if (received_ == 0 && input_.size() > content_bytes) std::string(input_bytes, '\0').swap(input_);
}

void PeerLink::on_read(std::size_t bytes) {
    const auto alive = shared_from_this();
    received_ += bytes;
    std::string_view rest(input_.data(), received_);
    std::vector<codec::peer::Message> messages;
    while (state_ != State::closed) {
        if (state_ == State::refusing) rest = {};
        const auto body = codec::take_frame(rest, opener_ ? max_sealed_bytes : handshake_frame_bytes);
        if (!body) return close(body.error().message);
        if (!*body) break;
        if (!(opener_ ? take_content(**body, messages) : shake_hands(**body))) return;
    }
    if (state_ == State::closed) return;
    std::copy(rest.begin(), rest.end(), input_.begin());
    received_ = rest.size();
    if (!messages.empty() && state_ == State::open) parts_.owner.on_messages(*this, std::move(messages));
    if (state_ != State::closed) read();
}

bool PeerLink::shake_hands(std::string_view body) {
    next_ += handshake_.receive(body);
    peer_ = handshake_.peer();
    switch (handshake_.state()) {
        case Handshake::State::broken:
            close(handshake_.why_broken());
            return false;
        case Handshake::State::refused:
            refusal_ = handshake_.refusal();
            refused_by_peer_ = handshake_.refused_by_peer();
            parts_.owner.on_refused(*this);
            if (refused_by_peer_) return close(std::string(to_string(*refusal_))), false;
            state_ = State::refusing;  // until the peer has read the reason, or the handshake times out
            break;
        case Handshake::State::done:
            sealer_ = handshake_.take_sealer();
            opener_ = handshake_.take_opener();
            state_ = State::open;
            open_since_ = heard_at_ = parts_.clock();
            check_later(parts_.limits.ping_every);
            ping_due_ = true;
            flush_soon();
            parts_.owner.on_open(*this);
            break;
        case Handshake::State::under_way:
            break;
    }
    write();
    return state_ != State::closed;
}

bool PeerLink::take_content(std::string_view body, std::vector<codec::peer::Message>& messages) {
    const auto content = opener_->open(body);
    if (!content) return close("the MAC of a frame does not match"), false;
    auto frame = parts_.decoder.decode(*content);
    if (!frame) return close(frame.error().message), false;
    heard_at_ = parts_.clock();
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
    if (frame->ping != 0) {
        const Duration silence =
            std::chrono::milliseconds(std::min<std::uint64_t>(frame->silent_for_ms, max_silent_ms));
        silent_until_ = heard_at_ + silence;
        parts_.owner.on_silence(*this, silence);
        pong_ = frame->ping;
        flush_soon();
        if (!frame->lives.empty()) parts_.owner.on_lives(*this, frame->lives);
        if (state_ == State::closed) return false;
    }
    return true;
}

void PeerLink::on_pong(std::uint64_t number) {
    if (number != ping_ || answered_) return;
    answered_ = true;
    const Duration sample = parts_.clock() - pinged_at_;
    round_trip_ = round_trip_ ? (*round_trip_ * 7 + sample) / 8 : sample;
}

// ---- output ----

void PeerLink::flush_soon() {
    if (flush_posted_ || writing_) return;
    flush_posted_ = true;
    boost::asio::post(socket_.get_executor(), [self = shared_from_this()] {
        self->flush_posted_ = false;
        self->flush();
    });
}

void PeerLink::flush() {
    if (writing_ || (state_ != State::open && state_ != State::finishing)) return;
    content_.clear();
    counts_.sent += outbox_.take(content_, content_bytes);
    if (state_ == State::open && std::exchange(ping_due_, false)) {
        codec::peer::append_ping(++ping_, content_);
        if (const Duration silent = parts_.silent_for ? parts_.silent_for() : Duration::zero();
            silent > Duration::zero())
            codec::peer::append_silence(static_cast<std::uint64_t>(to_ms_up(silent)), content_);
        if (parts_.terms.founders != nullptr) codec::peer::append_lives(parts_.terms.founders->own().lives, content_);
        pinged_at_ = parts_.clock();
        answered_ = false;
    }
    if (state_ == State::open && pong_ != 0) codec::peer::append_pong(std::exchange(pong_, 0), content_);
    if (!content_.empty()) sealer_->append(content_, next_);
    if (content_.capacity() > 2 * content_bytes) std::string().swap(content_);
    write();
}

/// Writes next_, unless a write is in progress.
void PeerLink::write() {
    if (writing_ || state_ == State::closed) return;
    if (next_.empty()) {
        // The peer closes once it has read everything. Closing first could discard data in flight.
        if (state_ == State::finishing || state_ == State::refusing) {
            boost::system::error_code ignored;
            socket_.shutdown(tcp::socket::shutdown_send, ignored);
        }
        return;
    }
    writing_ = true;
    output_.swap(next_);
    ++counts_.writes;
    progress_at_ = parts_.clock();
    on_written(0);
}

/// Continues the write until output_ is sent.
void PeerLink::on_written(std::size_t bytes) {
    written_ += bytes;
    if (bytes > 0) progress_at_ = parts_.clock();
    if (written_ == output_.size()) {
        written_ = 0;
        output_.clear();
        if (output_.capacity() > 2 * content_bytes) output_.shrink_to_fit();
        writing_ = false;
        return opener_ ? flush() : write();
    }
    socket_.async_write_some(boost::asio::buffer(output_.data() + written_, output_.size() - written_),
                             [self = shared_from_this()](boost::system::error_code error, std::size_t more) {
                                 if (self->state_ == State::closed) return;
                                 if (error) return self->close(error.message());
                                 self->on_written(more);
                             });
}

// ---- time ----

void PeerLink::check_later(Duration after) {
    timer_.expires_after(after);
    timer_.async_wait([self = shared_from_this()](boost::system::error_code cancelled) {
        if (!cancelled && self->state_ != State::closed) self->check();
    });
}

void PeerLink::check() {
    if (state_ == State::refusing) return close(std::string(to_string(*refusal_)));
    if (state_ == State::shaking_hands) return close("the handshake was not finished in time");
    const Instant now = parts_.clock();
    if (now - heard_at_ >= parts_.limits.dead_after) return close("the other end does not answer");
    if (writing_ && now - progress_at_ >= parts_.limits.dead_after) return close("the other end does not read");
    if (answered_) ping_due_ = true;
    flush_soon();
    check_later(parts_.limits.ping_every);
}

// ---- closing ----

void PeerLink::finish() {
    if (state_ != State::open) return close("this node stops");
    state_ = State::finishing;
    flush_soon();
}

void PeerLink::close(const std::string& why) {
    if (state_ == State::closed) return;
    const auto alive = shared_from_this();
    abandon();
    parts_.owner.on_closed(*this, why);
}

void PeerLink::abandon() {
    state_ = State::closed;
    boost::system::error_code ignored;
    socket_.close(ignored);
    timer_.cancel();
}

}  // namespace holdfast::doors::peer
