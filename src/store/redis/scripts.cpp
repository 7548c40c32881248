#include "store/redis/scripts.h"

#include <charconv>

#include "base/assert.h"
#include "codec/resp/resp_number.h"

namespace holdfast::store::redis {
namespace {

// Lua numbers are converted to text only with format('%.0f'): the default conversion loses digits. In replies they are
// integers, which are exact below 2^53.

// A counter that is not all digits counts as absent. MGET also returns nothing if the key has another type.

constexpr std::string_view fetch_text = R"(local t = redis.call('TIME')
local v, count = redis.call('GET', KEYS[1]), redis.call('MGET', KEYS[2])[1]
count = count and #count <= 15 and not string.find(count, '%D') and tonumber(count) or 0
if v then return {t[1], t[2], count, v} end
return {t[1], t[2], count})";

// The beginning of a value identifies its write, so a large value is read as a whole only if it is returned. A failure
// of one key does not affect the others: with memory full, releases continue. A failure of all keys is returned as the
// error from Redis; once a script has written something, Redis does not refuse its later writes for such a reason.
constexpr std::string_view swap_text = R"(local call, pcall, keys, args = redis.call, redis.pcall, KEYS, ARGV
local t = call('TIME')
local now = t[1] * 1000000 + t[2]
local soon = now < tonumber(args[2])
local swaps, least = #keys - 2, args[3]
local both = call('MGET', keys[swaps + 1], keys[swaps + 2])
local marker, count = both[1], both[2]
count = count and #count <= 15 and not string.find(count, '%D') and tonumber(count)
if (count or 0) < tonumber(args[4]) then return {t[1], t[2], count or 0, string.rep('p', swaps)} end
if least ~= '' then
  local stands = marker and string.sub(marker, 1, 20) == string.sub(least, 1, 20)
  for at = 21, 29, 8 do
    if not stands then break end
    local is, must = tonumber(string.sub(marker, at, at + 7), 16), tonumber(string.sub(least, at, at + 7), 16)
    if not is then stands = false
    elseif is > must then break
    else stands = is == must end
  end
  if not stands then return {t[1], t[2], count or 0, string.rep('l', swaps)} end
end
local letters, out, wrote, type, removed = {}, {t[1], t[2], count or 0, ''}, false, type, {}
for i = 1, swaps do
  local k, a = keys[i], i * 5
  local mark, value, window, pxat = args[a], args[a + 1], args[a + 2], args[a + 3]
  local timely, letter, put = soon, 'o', false
  if window ~= '' then
    local from, till = string.match(window, '^(%S+) (%S+)$')
    timely = soon and now >= tonumber(from) and now < tonumber(till)
  end
  if mark == '' then
    if timely and value ~= '' then
      if pxat == '' then put = pcall('SET', k, value, 'NX')
      else put = pcall('SET', k, value, 'NX', 'PXAT', pxat) end
      if put then letter = 'd' end
    end
  elseif pcall('GETRANGE', k, '0', '35') == mark then
    letter = 'd'
    if not timely then letter = 't'
    elseif value == '' then
      put = pcall('DEL', k)
      if put == 1 then put = removed end
    elseif pxat == '' then put = pcall('SET', k, value)
    else put = pcall('SET', k, value, 'PXAT', pxat) end
  end
  if put then
    local wrong = put.err
    if not wrong then wrote = true
    elseif wrote or string.find(wrong, '^-?OOM') then letter, out[#out + 1] = 'e', wrong
    else return put end
  elseif letter == 'o' then
    local found = pcall('GET', k)
    if type(found) == 'table' then letter, found = 'e', found.err end
    if found then out[#out + 1] = found
    elseif mark ~= '' then letter = 'n'
    elseif timely then letter = 'd'
    else letter = 't' end
  end
  if letter == 'd' and args[a + 4] ~= '' then
    local told = pcall('PUBLISH', args[1], args[a + 4])
    if type(told) == 'table' then letter, out[#out + 1] = 'e', told.err end
  end
  letters[i] = letter
end
if wrote and count then out[3] = call('INCR', keys[swaps + 2])
elseif wrote then
  out[3] = 1
  call('SET', keys[swaps + 2], '1')
end
out[4] = table.concat(letters)
return out)";

constexpr std::string_view cover_text = R"(local t = redis.call('TIME')
local k = KEYS[1]
redis.call('ZREMRANGEBYSCORE', k, '-inf', t[1] .. string.format('%06d', t[2]))
for i = 1, #ARGV, 3 do
  local score, own, member = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  local old = redis.call('ZSCORE', k, member)
  if old == 'inf' then score = old
  elseif old and score ~= 'inf' and (own == '' or tonumber(old) ~= tonumber(own)) then
    local most = math.max(tonumber(old), tonumber(score))
    if most % 2 == 0 then most = most + 1 end
    score = string.format('%.0f', most)
  end
  redis.call('ZADD', k, score, member)
end
local last = redis.call('ZRANGE', k, -1, -1, 'WITHSCORES')[2]
if last == 'inf' then redis.call('PERSIST', k)
else redis.call('PEXPIREAT', k, string.format('%.0f', math.ceil(tonumber(last) / 1000))) end
return redis.status_reply('OK'))";

constexpr std::string_view drop_text = R"(for i = 1, #ARGV, 2 do
  local old = redis.call('ZSCORE', KEYS[1], ARGV[i + 1])
  if old and tonumber(old) == tonumber(ARGV[i]) then redis.call('ZREM', KEYS[1], ARGV[i + 1]) end
end
return redis.status_reply('OK'))";

// A score only decreases, so that settle can tell that a front has named the member again in between. The set outlives
// its last member's time by an hour: its records are gone long before.
constexpr std::string_view due_text = R"(local k = KEYS[1]
local out = {}
for i = 1, #ARGV, 2 do
  local score = tonumber(ARGV[i])
  local old = redis.call('ZSCORE', k, ARGV[i + 1])
  if old then score = math.min(score, tonumber(old) - 1) end
  out[#out + 1] = string.format('%.0f', score)
  redis.call('ZADD', k, out[#out], ARGV[i + 1])
end
local last = redis.call('ZRANGE', k, -1, -1, 'WITHSCORES')[2]
redis.call('PEXPIREAT', k, string.format('%.0f', math.ceil(tonumber(last) / 1000) + 3600000))
return out)";

constexpr std::string_view take_text = R"(local t = redis.call('TIME')
local k = KEYS[1]
local now = t[1] * 1000000 + t[2]
local late = string.format('%.0f', now - tonumber(ARGV[2]))
local again = string.format('%.0f', now + tonumber(ARGV[3]))
local found = redis.call('ZRANGEBYSCORE', k, '-inf', late, 'LIMIT', 0, ARGV[1])
local out = {t[1], t[2], again}
for i = 1, #found do
  redis.call('ZADD', k, again, found[i])
  out[i + 3] = found[i]
end
if #found > 0 then
  local last = redis.call('ZRANGE', k, -1, -1, 'WITHSCORES')[2]
  redis.call('PEXPIREAT', k, string.format('%.0f', math.ceil(tonumber(last) / 1000) + 3600000))
end
return out)";

constexpr std::string_view settle_text = R"(local k = KEYS[1]
for i = 1, #ARGV, 3 do
  local old = redis.call('ZSCORE', k, ARGV[i + 2])
  if old and tonumber(old) == tonumber(ARGV[i]) then
    if ARGV[i + 1] == '' then redis.call('ZREM', k, ARGV[i + 2])
    else redis.call('ZADD', k, ARGV[i + 1], ARGV[i + 2]) end
  end
end
local last = redis.call('ZRANGE', k, -1, -1, 'WITHSCORES')[2]
if last then redis.call('PEXPIREAT', k, string.format('%.0f', math.ceil(tonumber(last) / 1000) + 3600000)) end
return redis.status_reply('OK'))";

constexpr std::string_view look_text = R"(local t = redis.call('TIME')
local now = t[1] .. string.format('%06d', t[2])
local found = redis.call('ZRANGEBYSCORE', KEYS[1], now, '+inf', 'LIMIT', 0, ARGV[1])
table.insert(found, 1, t[1])
table.insert(found, 2, t[2])
return found)";

constexpr std::string_view evalsha_word = "$7\r\nEVALSHA\r\n$40\r\n";

}  // namespace

std::string_view text_of(Script script) {
    switch (script) {
        case Script::none:
            break;
        case Script::fetch:
            return fetch_text;
        case Script::swap:
            return swap_text;
        case Script::cover:
            return cover_text;
        case Script::drop:
            return drop_text;
        case Script::due:
            return due_text;
        case Script::take:
            return take_text;
        case Script::settle:
            return settle_text;
        case Script::look:
            return look_text;
    }
    return {};
}

CommandWriter::CommandWriter(std::string& out, std::size_t words) : out_(out) {
    codec::resp::append_header(out_, '*', words);
}

CommandWriter::CommandWriter(std::string& out, const ScriptNames& names, Script script, std::size_t keys,
                             std::size_t arguments)
    : CommandWriter(out, keys + arguments + 3) {
    out_ += evalsha_word;
    out_ += names[static_cast<std::size_t>(script)];
    out_ += "\r\n";
    add(static_cast<std::int64_t>(keys));
}

CommandWriter::CommandWriter(std::string& out, const ScriptNames& names, Script script, std::string_view key,
                             std::size_t arguments)
    : CommandWriter(out, names, script, std::size_t{1}, arguments) {
    add(key);
}

CommandWriter& CommandWriter::add(std::string_view word) {
    return add_joined(word, {});
}

CommandWriter& CommandWriter::add(std::int64_t number) {
    char text[24];
    const auto end = std::to_chars(text, text + sizeof text, number).ptr;
    return add(std::string_view(text, static_cast<std::size_t>(end - text)));
}

CommandWriter& CommandWriter::add_joined(std::string_view first, std::string_view second) {
    append_joined(out_, first, second);
    return *this;
}

void CommandWriter::append(std::string& out, std::initializer_list<std::string_view> words) {
    for (const std::string_view word : words)
        append_joined(out, word, {});
}

void CommandWriter::append_joined(std::string& out, std::string_view first, std::string_view second) {
    codec::resp::append_header(out, '$', first.size() + second.size());
    out += first;
    out += second;
    out += "\r\n";
}

std::string with_text(std::string_view evalsha, Script script) {
    constexpr std::size_t sha_bytes = 40;
    const auto count = evalsha.find('\n') + 1;
    const auto rest = count + evalsha_word.size() + sha_bytes + 2;
    HOLDFAST_ASSERT(evalsha.substr(count).starts_with(evalsha_word) && evalsha.size() > rest);
    const auto text = text_of(script);
    std::string out(evalsha.substr(0, count));
    out += "$4\r\nEVAL\r\n";
    codec::resp::append_header(out, '$', text.size());
    out += text;
    out += "\r\n";
    out += evalsha.substr(rest);
    return out;
}

}  // namespace holdfast::store::redis
