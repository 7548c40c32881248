#include "discovery/random_messages.h"

namespace holdfast::discovery {
namespace {

constexpr std::uint64_t any_number = UINT64_MAX;
constexpr std::uint64_t token_end = 1ULL << 53;

}  // namespace

std::uint64_t RandomMessages::number(std::uint64_t below) {
    switch (random_.below(4)) {
        case 0:
            return 0;
        case 1:
            return below - 1;
        default:
            return random_.below(below);
    }
}

std::string RandomMessages::exactly(std::size_t count) {
    std::string text;
    while (text.size() < count)
        text += static_cast<char>(random_.next());
    return text;
}

std::string RandomMessages::bytes(std::size_t most) {
    return exactly(number(most + 1));
}

ErrorCode RandomMessages::code() {
    return ErrorCode::named(bytes(ErrorCode::max_bytes));
}

Duration RandomMessages::duration() {
    return std::chrono::milliseconds{number(49ULL * 24 * 3600 * 1000 + 1)};
}

Update RandomMessages::update() {
    Update update;
    update.action = static_cast<Action>(random_.below(3));
    update.name = bytes(255);
    update.token = number(token_end);
    update.returning = random_.below(2) == 0;
    update.ttl = duration();
    update.address = bytes(260);
    for (std::size_t count = number(17); update.alpn.size() < count;)
        update.alpn.push_back(bytes(255));
    for (std::size_t count = number(65); update.metadata.size() < count;)
        update.metadata.emplace_back(bytes(10), bytes(50));
    update.relay = number(any_number);
    update.time_ms = static_cast<std::int64_t>(number(token_end));
    update.nonce = number(any_number);
    return update;
}

UpdateResponse RandomMessages::response() {
    UpdateResponse response;
    response.number = static_cast<std::uint32_t>(number(UINT32_MAX));
    if (random_.below(2) == 0) response.refused = code();
    response.message = bytes(4096);
    response.name = bytes(255);
    response.token = number(token_end);
    response.ttl = duration();
    response.expires_in = duration();
    response.renew_in = duration();
    response.retry_in = duration();
    response.time_ms = static_cast<std::int64_t>(number(token_end));
    response.relay = number(any_number);
    return response;
}

Message RandomMessages::of_kind(std::size_t kind) {
    const auto version = static_cast<std::uint32_t>(number(UINT32_MAX));
    switch (kind) {
        case 0:
            return PublisherHello{version, number(2) == 1};
        case 1:
            return RelayHello{version, number(any_number), static_cast<std::int64_t>(number(token_end))};
        case 2:
            return SignedUpdate{encode(update()), bytes(64), bytes(64), version};
        case 3:
            return response();
        case 4:
            return StreamOffer{exactly(ticket_bytes), bytes(255), bytes(64)};
        case 5:
            return StreamRefused{exactly(ticket_bytes), bytes(4096), number(2) == 1};
        case 6:
            return Withdrawn{bytes(255), number(token_end), code(), bytes(4096)};
        case 7:
            return MayRetry{bytes(255), duration()};
        case 8:
            return StreamRequest{version, bytes(255)};
        case 9:
            return StreamAccept{version, exactly(ticket_bytes)};
        case 10:
            return StreamOpened{};
        default:
            return StreamFailed{code(), bytes(4096), bytes(512)};
    }
}

}  // namespace holdfast::discovery
