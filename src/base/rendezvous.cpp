#include "base/rendezvous.h"

#include <bit>

namespace holdfast::inline base {

namespace {

constexpr std::uint64_t prime_1 = 0x9e3779b185ebca87;
constexpr std::uint64_t prime_2 = 0xc2b2ae3d27d4eb4f;
constexpr std::uint64_t prime_3 = 0x165667b19e3779f9;
constexpr std::uint64_t prime_4 = 0x85ebca77c2b2ae63;
constexpr std::uint64_t prime_5 = 0x27d4eb2f165667c5;

constexpr std::uint64_t fnv_offset = 0xcbf29ce484222325;
constexpr std::uint64_t fnv_prime = 0x100000001b3;

std::uint64_t fnv1a_from(std::uint64_t hash, std::string_view bytes) {
    for (const char byte : bytes)
        hash = (hash ^ static_cast<unsigned char>(byte)) * fnv_prime;
    return hash;
}

/// The leading bytes as a little-endian number.
template <class Number>
std::uint64_t take(std::string_view& bytes) {
    Number number = 0;
    for (std::size_t i = 0; i < sizeof number; ++i)
        number = static_cast<Number>(number | Number{static_cast<unsigned char>(bytes[i])} << (8 * i));
    bytes.remove_prefix(sizeof number);
    return number;
}

std::uint64_t mix(std::uint64_t lane, std::uint64_t input) {
    return std::rotl(lane + input * prime_2, 31) * prime_1;
}

std::uint64_t merge(std::uint64_t hash, std::uint64_t lane) {
    return (hash ^ mix(0, lane)) * prime_1 + prime_4;
}

/// Whole stripes of 32 bytes, in four lanes.
std::uint64_t take_stripes(std::string_view& bytes) {
    std::uint64_t lanes[4]{prime_1 + prime_2, prime_2, 0, std::uint64_t{0} - prime_1};
    while (bytes.size() >= 32)
        for (std::uint64_t& lane : lanes)
            lane = mix(lane, take<std::uint64_t>(bytes));
    std::uint64_t hash =
        std::rotl(lanes[0], 1) + std::rotl(lanes[1], 7) + std::rotl(lanes[2], 12) + std::rotl(lanes[3], 18);
    for (const std::uint64_t lane : lanes)
        hash = merge(hash, lane);
    return hash;
}

}  // namespace

std::uint64_t xxh64(std::string_view bytes) {
    const std::uint64_t size = bytes.size();
    std::uint64_t hash = (size >= 32 ? take_stripes(bytes) : prime_5) + size;
    while (bytes.size() >= 8)
        hash = std::rotl(hash ^ mix(0, take<std::uint64_t>(bytes)), 27) * prime_1 + prime_4;
    if (bytes.size() >= 4) hash = std::rotl(hash ^ (take<std::uint32_t>(bytes) * prime_1), 23) * prime_2 + prime_3;
    while (!bytes.empty())
        hash = std::rotl(hash ^ (take<std::uint8_t>(bytes) * prime_5), 11) * prime_1;
    hash = (hash ^ (hash >> 33)) * prime_2;
    hash = (hash ^ (hash >> 29)) * prime_3;
    return hash ^ (hash >> 32);
}

std::uint64_t fnv1a(std::string_view bytes) {
    return fnv1a_from(fnv_offset, bytes);
}

std::uint64_t rendezvous_weight(std::string_view instance, std::string_view session, RendezvousHash hash) {
    if (hash == RendezvousHash::fnv1a) return fnv1a_from(fnv1a(instance), session);
    std::string both;
    both.reserve(instance.size() + 1 + session.size());
    both.append(instance).append("/").append(session);
    return xxh64(both);
}

std::string_view preferred_owner(const std::set<std::string>& instances, std::string_view session,
                                 RendezvousHash hash) {
    std::string_view best;
    std::uint64_t highest = 0;
    for (const std::string& instance : instances) {  // in order, so that the greater name wins a tie
        const std::uint64_t weight = rendezvous_weight(instance, session, hash);
        if (best.empty() || weight >= highest) {
            best = instance;
            highest = weight;
        }
    }
    return best;
}

}  // namespace holdfast::inline base
