// What is written is read again, however the bytes are cut on their way.

#include <algorithm>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "codec/resp/reading.h"
#include "codec/resp/resp_writer.h"

namespace holdfast::codec::resp {
namespace {

using Type = Value::Type;

/// Bytes in which what the protocol gives a meaning to is frequent.
rc::Gen<std::string> bytes() {
    return rc::gen::container<std::string>(rc::gen::weightedOneOf<char>(
        {{3, rc::gen::elementOf(std::string("\r\n*$:+-0123456789\"'\\ x"))}, {1, rc::gen::arbitrary<char>()}}));
}

rc::Gen<Words> command() {
    return rc::gen::nonEmpty(rc::gen::container<Words>(bytes()));
}

std::string stream_of(const std::vector<Words>& commands) {
    std::string stream;
    for (const Words& words : commands) {
        const std::vector<std::string_view> views(words.begin(), words.end());
        write_command(stream, views);
    }
    return stream;
}

std::vector<std::size_t> cuts_of(const std::string& stream) {
    auto cuts = *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(0, stream.size() + 1));
    std::sort(cuts.begin(), cuts.end());
    return cuts;
}

RC_GTEST_PROP(RoundTrip, a_command_is_read_as_written_wherever_it_is_cut, ()) {
    const Words words = *rc::gen::resize(12, command());
    const std::string stream = stream_of({words});
    for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
        const auto reading = read_in_pieces<CommandReader>(stream, std::span(&cut, 1));
        RC_ASSERT(reading.items == std::vector<Words>{words});
        RC_ASSERT(reading.used == stream.size());
    }
}

RC_GTEST_PROP(RoundTrip, commands_are_read_as_written_in_any_pieces, ()) {
    const auto commands = *rc::gen::resize(14, rc::gen::container<std::vector<Words>>(command()));
    const std::string stream = stream_of(commands);
    RC_ASSERT(read_in_pieces<CommandReader>(stream, cuts_of(stream)).items == commands);
    RC_ASSERT(read_bytewise<CommandReader>(stream).items == commands);
}

RC_GTEST_PROP(RoundTrip, any_bytes_are_the_same_commands_in_any_pieces, ()) {
    const std::string stream = *bytes();
    const auto reading = read_at_once<CommandReader>(stream);
    RC_ASSERT(read_in_pieces<CommandReader>(stream, cuts_of(stream)) == reading);
    RC_ASSERT(read_bytewise<CommandReader>(stream) == reading);
}

RC_GTEST_PROP(RoundTrip, any_bytes_are_the_same_replies_in_any_pieces, ()) {
    const std::string stream = *bytes();
    const auto reading = read_at_once<ValueReader>(stream);
    RC_ASSERT(read_in_pieces<ValueReader>(stream, cuts_of(stream)) == reading);
    RC_ASSERT(read_bytewise<ValueReader>(stream) == reading);
}

/// A reply that a ReplyWriter can write.
rc::Gen<Value> reply(int depth) {
    const auto line = rc::gen::container<std::string>(rc::gen::inRange(' ', '~'));
    const auto leaf = rc::gen::oneOf(rc::gen::just(Value{}),
                                     rc::gen::map(bytes(),
                                                  [](std::string of) {
                                                      return Value{Type::text, std::move(of)};
                                                  }),
                                     rc::gen::map(line,
                                                  [](std::string of) {
                                                      return Value{Type::status, std::move(of)};
                                                  }),
                                     rc::gen::map(line,
                                                  [](std::string of) {
                                                      return Value{Type::error, "ERR " + of};
                                                  }),
                                     rc::gen::map(rc::gen::arbitrary<std::int64_t>(),
                                                  [](std::int64_t of) {
                                                      return Value{Type::integer, {}, of};
                                                  }),
                                     rc::gen::map(rc::gen::arbitrary<bool>(), [](bool of) {
                                         return Value{Type::boolean, {}, of};
                                     }));
    if (depth == 0) return leaf;
    const auto aggregate = rc::gen::apply(
        [](Type type, std::vector<Value> items) {
            if (type == Type::map && items.size() % 2 == 1) items.pop_back();
            return Value{type, {}, 0, std::move(items)};
        },
        rc::gen::element(Type::array, Type::map, Type::push),
        rc::gen::resize(6, rc::gen::container<std::vector<Value>>(reply(depth - 1))));
    return rc::gen::oneOf(leaf, aggregate);
}

void write(ReplyWriter& to, const Value& value) {
    switch (value.type) {
        case Type::text:
            return to.bulk(value.text);
        case Type::status:
            return to.simple(value.text);
        case Type::error:
            return to.error("ERR", value.text.substr(4));
        case Type::integer:
            return to.integer(value.number);
        case Type::boolean:
            return to.boolean(value.number == 1);
        case Type::array:
            to.array(value.items.size());
            break;
        case Type::map:
            to.map(value.items.size() / 2);
            break;
        case Type::push:
            to.push(value.items.size());
            break;
        default:
            return to.null();
    }
    for (const Value& item : value.items)
        write(to, item);
}

/// What is left of a reply in RESP2, which has fewer types.
Value in_resp2(Value value) {
    if (value.type == Type::map || value.type == Type::push) value.type = Type::array;
    if (value.type == Type::boolean) value.type = Type::integer;
    for (Value& item : value.items)
        item = in_resp2(std::move(item));
    return value;
}

RC_GTEST_PROP(RoundTrip, replies_are_read_as_written_in_either_protocol, ()) {
    const auto replies = *rc::gen::container<std::vector<Value>>(reply(3));
    for (const Protocol protocol : {Protocol::resp2, Protocol::resp3}) {
        std::string stream;
        ReplyWriter writer(stream, protocol);
        std::vector<Value> expected;
        for (const Value& value : replies) {
            write(writer, value);
            expected.push_back(protocol == Protocol::resp2 ? in_resp2(value) : value);
        }
        RC_ASSERT(read_at_once<ValueReader>(stream).items == expected);
        RC_ASSERT(read_in_pieces<ValueReader>(stream, cuts_of(stream)).items == expected);
    }
}

}  // namespace
}  // namespace holdfast::codec::resp
