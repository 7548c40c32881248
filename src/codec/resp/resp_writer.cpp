#include "codec/resp/resp_writer.h"

#include "base/printable.h"
#include "codec/resp/resp_number.h"

namespace holdfast::codec::resp {
namespace {

std::string one_line(std::string_view text) {
    std::string line(text);
    for (char& c : line)
        if (c == '\r' || c == '\n') c = ' ';
    return line;
}

}  // namespace

void ReplyWriter::simple(std::string_view text) {
    out_ += '+';
    out_ += one_line(text);
    out_ += "\r\n";
}

void ReplyWriter::error(std::string_view code, std::string_view message) {
    out_ += '-';
    out_ += code;
    out_ += ' ';
    out_ += printable(one_line(message));
    out_ += "\r\n";
}

void ReplyWriter::integer(std::int64_t value) {
    append_header(out_, ':', value);
}

void ReplyWriter::bulk(std::string_view text) {
    append_header(out_, '$', text.size());
    out_ += text;
    out_ += "\r\n";
}

void ReplyWriter::null() {
    out_ += protocol_ == Protocol::resp3 ? "_\r\n" : "$-1\r\n";
}

void ReplyWriter::null_array() {
    out_ += protocol_ == Protocol::resp3 ? "_\r\n" : "*-1\r\n";
}

void ReplyWriter::boolean(bool value) {
    if (protocol_ == Protocol::resp3)
        out_ += value ? "#t\r\n" : "#f\r\n";
    else
        out_ += value ? ":1\r\n" : ":0\r\n";
}

void ReplyWriter::array(std::size_t items) {
    append_header(out_, '*', items);
}

void ReplyWriter::map(std::size_t pairs) {
    append_header(out_, protocol_ == Protocol::resp3 ? '%' : '*', protocol_ == Protocol::resp3 ? pairs : 2 * pairs);
}

void ReplyWriter::push(std::size_t items) {
    append_header(out_, protocol_ == Protocol::resp3 ? '>' : '*', items);
}

}  // namespace holdfast::codec::resp
