#include "supervise/messages.h"

#include <cerrno>
#include <cstring>
#include <sys/socket.h>
#include <type_traits>

namespace holdfast::supervise {
namespace {

/// The fixed part of every message. Fields that a kind does not use are zero.
struct Frame {
    std::uint32_t kind = 0;
    std::uint32_t flag = 0;
    std::int64_t first = 0;
    std::int64_t second = 0;
};
static_assert(std::is_trivially_copyable_v<Frame>);

std::string bytes_of(const Frame& frame) {
    return {reinterpret_cast<const char*>(&frame), sizeof frame};
}

std::optional<Frame> frame_of(std::string_view bytes) {
    if (bytes.size() < sizeof(Frame)) return std::nullopt;
    Frame frame;
    std::memcpy(&frame, bytes.data(), sizeof frame);
    return frame;
}

Frame frame_of(std::size_t kind, WorkDeadlines deadlines) {
    return {static_cast<std::uint32_t>(kind), 0, deadlines.soft.time_since_epoch().count(),
            deadlines.hard.time_since_epoch().count()};
}

WorkDeadlines deadlines_of(const Frame& frame) {
    return {HolderInstant{Duration{frame.first}}, HolderInstant{Duration{frame.second}}};
}

constexpr std::uint32_t foreground_flag = 1;
constexpr std::uint32_t whole_flag = 2;
constexpr std::uint32_t session_flag = 4;

std::vector<std::string> texts_of(std::string_view bytes) {
    std::vector<std::string> texts;
    while (!bytes.empty()) {
        const std::size_t end = bytes.find('\0');
        if (end == std::string_view::npos) break;
        texts.emplace_back(bytes.substr(0, end));
        bytes.remove_prefix(end + 1);
    }
    return texts;
}

std::string encode_start(const StartOrder& start) {
    Frame frame = frame_of(0, start.deadlines);
    frame.flag =
        (start.foreground ? foreground_flag : 0) | (start.whole ? whole_flag : 0) | (start.session ? session_flag : 0);
    std::string bytes = bytes_of(frame);
    for (const std::string* text : {&start.directory, &start.cgroup})
        bytes.append(*text).push_back('\0');
    for (const std::string& variable : start.environment)
        bytes.append(variable).push_back('\0');
    return bytes;
}

std::optional<Order> decode_start(const Frame& frame, std::string_view bytes) {
    std::vector<std::string> texts = texts_of(bytes);
    if (texts.size() < 2) return std::nullopt;
    return StartOrder{deadlines_of(frame),
                      (frame.flag & foreground_flag) != 0,
                      {texts.begin() + 2, texts.end()},
                      (frame.flag & whole_flag) != 0,
                      (frame.flag & session_flag) != 0,
                      texts[0],
                      texts[1]};
}

}  // namespace

std::string encode(const Order& order) {
    if (const auto* start = std::get_if<StartOrder>(&order)) return encode_start(*start);
    if (const auto* renewed = std::get_if<RenewedOrder>(&order))
        return bytes_of(frame_of(order.index(), renewed->deadlines));
    if (const auto* stop = std::get_if<StopOrder>(&order))
        return bytes_of(frame_of(order.index(), {stop->kill_at, stop->kill_at}));
    if (const auto* passed = std::get_if<SignalOrder>(&order))
        return bytes_of({.kind = static_cast<std::uint32_t>(order.index()), .first = passed->signal});
    return bytes_of({.kind = static_cast<std::uint32_t>(order.index())});
}

std::string encode(const Report& report) {
    Frame frame{.kind = static_cast<std::uint32_t>(report.index())};
    if (const auto* started = std::get_if<StartedReport>(&report)) {
        frame.first = started->group;
        frame.second = started->guardian;
    }
    if (const auto* cannot = std::get_if<CannotRunReport>(&report)) frame.first = cannot->error;
    if (const auto* stopped = std::get_if<StoppedReport>(&report)) frame.first = stopped->signal;
    if (const auto* ended = std::get_if<EndedReport>(&report)) {
        frame.flag = ended->forced;
        frame.first = ended->status;
        frame.second = ended->left_behind;
    }
    return bytes_of(frame);
}

std::optional<Order> decode_order(std::string_view bytes) {
    const auto frame = frame_of(bytes);
    if (!frame) return std::nullopt;
    switch (frame->kind) {
        case 0:
            return decode_start(*frame, bytes.substr(sizeof(Frame)));
        case 1:
            return RenewedOrder{deadlines_of(*frame)};
        case 2:
            return LostOrder{};
        case 3:
            return StopOrder{deadlines_of(*frame).hard};
        case 4:
            return SignalOrder{static_cast<std::int32_t>(frame->first)};
        default:
            return std::nullopt;
    }
}

std::optional<Report> decode_report(std::string_view bytes) {
    const auto frame = frame_of(bytes);
    if (!frame) return std::nullopt;
    const auto first = static_cast<std::int32_t>(frame->first);
    switch (frame->kind) {
        case 0:
            return StartedReport{first, static_cast<std::int32_t>(frame->second)};
        case 1:
            return CannotRunReport{first};
        case 2:
            return StoppedReport{first};
        case 3:
            return EndedReport{first, frame->flag != 0, static_cast<std::int32_t>(frame->second)};
        default:
            return std::nullopt;
    }
}

bool send_message(int socket, std::string_view bytes, bool wait) {
    const int flags = MSG_NOSIGNAL | (wait ? 0 : MSG_DONTWAIT);
    ssize_t sent = 0;
    do {
        sent = ::send(socket, bytes.data(), bytes.size(), flags);
    } while (sent < 0 && errno == EINTR);
    return sent == static_cast<ssize_t>(bytes.size());
}

std::optional<std::string> receive_message(int socket) {
    std::string bytes(max_message_bytes, '\0');
    ssize_t received = 0;
    do {
        received = ::recv(socket, bytes.data(), bytes.size(), MSG_DONTWAIT);
        // ECONNRESET is reported once if the peer closed with unread input. Messages it wrote before can still be read.
    } while (received < 0 && (errno == EINTR || errno == ECONNRESET));
    if (received < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return std::nullopt;
    bytes.resize(received > 0 ? static_cast<std::size_t>(received) : 0);
    return bytes;
}

}  // namespace holdfast::supervise
