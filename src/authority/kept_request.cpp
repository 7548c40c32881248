#include "authority/kept_request.h"

#include <cstring>
#include <malloc.h>

#include "base/assert.h"

namespace holdfast::authority {
namespace {

constexpr std::uint8_t kept_node = 0x01;
constexpr std::uint8_t kept_epoch = 0x02;
constexpr std::uint8_t kept_progress = 0x04;
constexpr std::uint8_t kept_ttl = 0x08;

class KeptWriter {
 public:
    /// Varint: seven bits per byte, lowest first; the highest bit is set if more bytes follow.
    void put(std::uint64_t number) {
        for (; number >= 0x80; number >>= 7)
            bytes_ += static_cast<char>(number | 0x80);
        bytes_ += static_cast<char>(number);
    }
    void put(Duration duration) { put(static_cast<std::uint64_t>(duration.count())); }
    void put(std::string_view text) {
        put(std::uint64_t{text.size()});
        bytes_.append(text);
    }
    std::unique_ptr<char[]> take() const {
        auto bytes = std::make_unique_for_overwrite<char[]>(bytes_.size());
        std::memcpy(bytes.get(), bytes_.data(), bytes_.size());
        return bytes;
    }

 private:
    std::string bytes_;
};

class KeptReader {
 public:
    explicit KeptReader(const char* at) : at_(at) {}

    std::uint64_t get_number() {
        std::uint64_t number = 0;
        for (unsigned shift = 0;; shift += 7) {
            const auto byte = static_cast<unsigned char>(*at_++);
            number |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
            if (byte < 0x80) return number;
        }
    }
    Duration get_duration() { return Duration{static_cast<Duration::rep>(get_number())}; }
    std::string_view get_text() {
        const std::size_t length = get_number();
        const std::string_view text(at_, length);
        at_ += length;
        return text;
    }

 private:
    const char* at_;
};

}  // namespace

KeptRequest::KeptRequest(const AcquireRequest& asked) {
    std::uint8_t flags = asked.caller.node ? kept_node : 0;
    if (asked.epoch) flags |= kept_epoch;
    if (asked.progress) flags |= kept_progress;
    if (asked.ttl) flags |= kept_ttl;
    KeptWriter writer;
    writer.put(asked.holder);  // first: see holder()
    writer.put(std::uint64_t{flags});
    if (asked.epoch) writer.put(*asked.epoch);
    if (asked.progress) writer.put(*asked.progress);
    if (asked.ttl) writer.put(*asked.ttl);
    writer.put(asked.wait);
    writer.put(asked.caller.connection);
    writer.put(static_cast<std::uint64_t>(asked.caller.acts_for));
    for (const std::string* text :
         {&asked.caller.address, &asked.session, &asked.reason, &asked.metadata, &asked.idempotency_key})
        writer.put(*text);
    writer.put(std::uint64_t{asked.intents.size()});
    for (const lease::Intent& intent : asked.intents) {
        writer.put(static_cast<std::uint64_t>(intent.predicate));
        writer.put(intent.resource);
    }
    bytes_ = writer.take();
}

std::size_t KeptRequest::bytes() const {
    return malloc_usable_size(bytes_.get());
}

std::string_view KeptRequest::holder() const {
    HOLDFAST_ASSERT(bytes_ != nullptr);
    return KeptReader(bytes_.get()).get_text();
}

void KeptRequest::unpack(AcquireRequest& out) const {
    HOLDFAST_ASSERT(bytes_ != nullptr);
    KeptReader reader(bytes_.get());
    out.holder = reader.get_text();
    const std::uint64_t flags = reader.get_number();
    out.caller.node = (flags & kept_node) != 0;
    out.epoch.reset();
    if ((flags & kept_epoch) != 0) out.epoch = reader.get_number();
    out.progress.reset();
    if ((flags & kept_progress) != 0) out.progress = reader.get_number();
    out.ttl.reset();
    if ((flags & kept_ttl) != 0) out.ttl = reader.get_duration();
    out.wait = reader.get_duration();
    out.caller.connection = reader.get_number();
    out.caller.acts_for = static_cast<lease::Owner>(reader.get_number());
    for (std::string* text : {&out.caller.address, &out.session, &out.reason, &out.metadata, &out.idempotency_key})
        *text = reader.get_text();
    out.intents.resize(reader.get_number());
    for (lease::Intent& intent : out.intents) {
        intent.predicate = static_cast<lease::Predicate>(reader.get_number());
        intent.resource = reader.get_text();
    }
    out.reachable = nullptr;
}

}  // namespace holdfast::authority
