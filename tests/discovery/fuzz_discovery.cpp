// Whatever bytes come over a connection: no crash, and what is let through is within the limits, so that it can be said
// again.

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "codec/frame.h"
#include "discovery/protocol.h"

using namespace holdfast;

namespace {

void require(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "does not hold: %s\n", what);
    std::abort();
}

void try_update(std::string_view bytes) {
    const auto update = discovery::decode_update(bytes);
    if (!update) return;
    const auto again = discovery::decode_update(discovery::encode(*update));
    require(again && *again == *update, "an update that was let through is let through again, the same");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    try_update(bytes);
    const auto message = discovery::decode(bytes);
    if (!message) return 0;
    if (const auto* update = std::get_if<discovery::SignedUpdate>(&*message)) try_update(update->request);
    std::string frame;
    discovery::append_frame(*message, frame);
    std::string_view rest = frame;
    const auto body = codec::take_frame(rest, discovery::max_frame_bytes);
    require(body && *body && rest.empty(), "a frame is whole");
    const auto heard = discovery::decode(**body);
    require(heard && *heard == *message, "a message that was let through is let through again, the same");
    return 0;
}
