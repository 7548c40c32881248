// What the codec costs by itself: reading a pipelined command, writing its reply. `make bench-resp` runs it first.

#include <benchmark/benchmark.h>
#include <string>

#include "codec/resp/resp_command.h"
#include "codec/resp/resp_value.h"
#include "codec/resp/resp_writer.h"

namespace holdfast::resp {
namespace {

constexpr int pipelined = 64;

std::string pipeline_of(std::initializer_list<std::string_view> words) {
    std::string input;
    for (int i = 0; i < pipelined; ++i)
        codec::resp::write_command(input, words);
    return input;
}

void read_pipeline(benchmark::State& state, const std::string& input) {
    codec::resp::CommandReader reader;
    for (auto _ : state) {
        std::string_view rest = input;
        while (!rest.empty()) {
            if (reader.read(rest) != codec::resp::CommandReader::Outcome::command)
                return state.SkipWithError("not a command");
            benchmark::DoNotOptimize(reader.words().data());
            rest.remove_prefix(reader.size());
        }
    }
    state.SetItemsProcessed(state.iterations() * pipelined);
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(input.size()));
}

void read_set(benchmark::State& state) {
    read_pipeline(state, pipeline_of({"SET", "lock:000000123456", "holder-0000000000123456", "NX", "PX", "30000"}));
}
void read_evalsha(benchmark::State& state) {
    read_pipeline(state, pipeline_of({"EVALSHA", "0123456789abcdef0123456789abcdef01234567", "1", "lock:000000123456",
                                      "holder-0000000000123456", "30000"}));
}
void read_inline(benchmark::State& state) {
    std::string input;
    for (int i = 0; i < pipelined; ++i)
        input += "SET lock:000000123456 holder-0000000000123456 NX PX 30000\r\n";
    read_pipeline(state, input);
}

void write_replies(benchmark::State& state) {
    std::string out;
    for (auto _ : state) {
        out.clear();
        for (int i = 0; i < pipelined; ++i) {
            codec::resp::ReplyWriter reply(out, codec::resp::Protocol::resp2);
            if (i % 2 == 0)
                reply.simple("OK");
            else
                reply.integer(1);
        }
        benchmark::DoNotOptimize(out.data());
    }
    state.SetItemsProcessed(state.iterations() * pipelined);
}

void read_replies(benchmark::State& state) {
    std::string input;
    for (int i = 0; i < pipelined; ++i)
        input += i % 2 == 0 ? "+OK\r\n" : ":1\r\n";
    codec::resp::ValueReader reader;
    for (auto _ : state) {
        std::string_view rest = input;
        while (!rest.empty()) {
            if (reader.read(rest) != codec::resp::ValueReader::Outcome::value)
                return state.SkipWithError("not a reply");
            rest.remove_prefix(reader.size());
        }
    }
    state.SetItemsProcessed(state.iterations() * pipelined);
}

BENCHMARK(read_set);
BENCHMARK(read_evalsha);
BENCHMARK(read_inline);
BENCHMARK(write_replies);
BENCHMARK(read_replies);

}  // namespace
}  // namespace holdfast::resp
