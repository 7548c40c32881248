// Whatever bytes a peer sends: no crash, and what is let through is within the limits, so that it can be said again.

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "codec/peer/random_messages.h"

using namespace holdfast::codec::peer;

namespace {

void require(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "does not hold: %s\n", what);
    std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static Encoder encoder;
    static Decoder decoder;
    const auto frame = decoder.decode({reinterpret_cast<const char*>(data), size});
    if (!frame) return 0;
    require((frame->rejected == 0) == frame->why_rejected.empty(), "whatever is rejected is rejected for a reason");
    std::string again;
    for (const Message& message : frame->messages)
        require(static_cast<bool>(encoder.append(message, again)), "what was heard can be said");
    const auto heard = decoder.decode(again);
    require(heard && heard->messages.size() == frame->messages.size(), "what was let through is let through again");
    for (std::size_t i = 0; i < frame->messages.size(); ++i)
        require(same(heard->messages[i], frame->messages[i]), "what was said again is the same");
    return 0;
}
