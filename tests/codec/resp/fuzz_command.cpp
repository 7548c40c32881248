// Whatever bytes come: no crash, the same commands in pieces as at once, and what is read can be written and read
// again.

#include "codec/resp/fuzzing.h"

using namespace holdfast::codec::resp;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const auto reading = read_both_ways<CommandReader>(data, size);
    for (const Words& words : reading.items) {
        std::string written;
        const std::vector<std::string_view> views(words.begin(), words.end());
        write_command(written, views);
        const auto again = read_at_once<CommandReader>(written);
        require(again.items == std::vector<Words>{words} && again.used == written.size(), "written is read again");
    }
    return 0;
}
