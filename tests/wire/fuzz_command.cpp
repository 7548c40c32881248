// Whatever bytes come: no crash, the same commands in pieces as at once, and what is read can be written and read
// again.

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "wire/reading.h"

using namespace holdfast::resp;

namespace {

void require(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "does not hold: %s\n", what);
    std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    // The first byte says how long the pieces are.
    const std::size_t step = 1 + data[0] % 16;
    const std::string_view stream(reinterpret_cast<const char*>(data + 1), size - 1);
    std::vector<std::size_t> cuts;
    for (std::size_t cut = 0; cut < stream.size(); cut += step)
        cuts.push_back(cut);

    const auto reading = read_at_once<CommandReader>(stream);
    require(read_in_pieces<CommandReader>(stream, cuts) == reading, "pieces are read as the whole");

    for (const Words& words : reading.items) {
        std::string written;
        const std::vector<std::string_view> views(words.begin(), words.end());
        write_command(written, views);
        const auto again = read_at_once<CommandReader>(written);
        require(again.items == std::vector<Words>{words} && again.used == written.size(), "written is read again");
    }
    return 0;
}
