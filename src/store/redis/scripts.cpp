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
//
// A record enters its sets before it is written, and leaves them after: if Redis refuses one of these writes, the
// record is as it was, and its new entries are taken back. Most writes are renewals, which change no set: each
// instruction that they run counts.
constexpr std::string_view swap_text =
    R"(local call, pcall, keys, args, type = redis.call, redis.pcall, KEYS, ARGV, type
local t = call('TIME')
local now = t[1] * 1000000 + t[2]
local soon = now < tonumber(args[2])
local least, swaps = args[3], tonumber(args[5])
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

local due_set, set, done = keys[swaps + 3], swaps + 3, {}
local function leave(key, from, to)
  local name = string.sub(key, #due_set)
  for i = from, to do pcall('ZREM', keys[i], name) end
end
-- Returns the error, if a set refuses the record.
local function enter(key, enters, score)
  local name = string.sub(key, #due_set)
  for i = set + 1, set + enters do
    local put = pcall('ZADD', keys[i], '0', name)
    if type(put) == 'table' then
      put.of = keys[i]
      return put
    end
  end
  local put = score ~= '' and pcall('ZADD', due_set, 'LT', score, name)
  return type(put) == 'table' and put
end

local letters, out, notices, wrote = {}, {t[1], t[2], count or 0, ''}, {}, false
for i = 1, swaps do
  local k, a = keys[i], i * 7 - 1
  local mark, value, window, score, enters, leaves, notice = unpack(args, a, a + 6)
  local timely, letter, put = soon, 'o', false
  if window ~= '' then
    local from, till = string.match(window, '^(%S+) (%S+)$')
    timely = soon and now >= tonumber(from) and now < tonumber(till)
  end
  local expected = pcall('GETRANGE', k, '0', '35') == mark
  if mark == '' then expected = expected and timely and value ~= '' end
  if expected and not timely then letter = 't'
  elseif expected then
    if enters ~= '0' or score ~= '' then put = enter(k, enters, score) end
    if not put then
      if value == '' then
        local gone = pcall('DEL', k)
        put = type(gone) == 'table' and gone or gone == 1 and done
      elseif mark == '' then put = pcall('SET', k, value, 'NX')
      else put = pcall('SET', k, value) end
    end
    if put then letter = 'd' end
    if enters ~= '0' and (not put or put.err) then leave(k, set + 1, set + enters) end
    if leaves ~= '0' and put and not put.err then leave(k, set + enters + 1, set + enters + leaves) end
  end
  if enters ~= '0' or leaves ~= '0' then set = set + enters + leaves end
  if put then
    local wrong = put.err
    if not wrong then wrote = true
    elseif wrote or put.of or string.find(wrong, '^-?OOM') then
      letter, out[#out + 1] = 'e', put.of and put.of .. ': ' .. wrong or wrong
    else return put end
  elseif letter == 'o' then
    local found = pcall('GET', k)
    if type(found) == 'table' then letter, found = 'e', found.err end
    if found then out[#out + 1] = found
    elseif mark ~= '' then letter = 'n'
    elseif timely then letter = 'd'
    else letter = 't' end
  end
  if notice ~= '' and letter == 'd' then notices[#notices + 1] = notice end
  letters[i] = letter
end
if wrote and count then out[3] = call('INCR', keys[swaps + 2])
elseif wrote then
  out[3] = 1
  call('SET', keys[swaps + 2], '1')
end
if notices[1] then call('PUBLISH', args[1], table.concat(notices)) end
out[4] = table.concat(letters)
return out)";

// Redis may refuse to make a record due again while its memory is full: then it is named again at once. A record that
// cannot be read here, because it has just moved to another node of a cluster or is nobody's, is left for later.
constexpr std::string_view sweep_text = R"(local call, pcall = redis.call, redis.pcall
local t = call('TIME')
local now = t[1] * 1000000 + t[2]
local due_set = KEYS[1]
local base = string.sub(due_set, 1, -5)
local late = now - tonumber(ARGV[2])
local again = string.format('%.0f', now + tonumber(ARGV[3]))
local found = call('ZRANGE', due_set, '-inf', string.format('%.0f', late), 'BYSCORE', 'LIMIT', '0', ARGV[1])
local out = {t[1], t[2], #found}
local function forget(name, key, holders, folders)
  call('DEL', key)
  for holder in string.gmatch(holders, '[^\n]+') do pcall('ZREM', base .. ':h:' .. holder, name) end
  for length in string.gmatch(folders, '%d+') do pcall('ZREM', base .. ':f:' .. string.sub(name, 1, length), name) end
end
for i = 1, #found do
  local name, at = found[i], again
  local key = base .. ':r:' .. name
  local head = pcall('GETRANGE', key, '0', '1023')
  if head == '' then at = nil
  elseif type(head) == 'string' and string.sub(head, 1, 4) == 'hf3 ' then
    local size = tonumber(string.sub(head, 38, 45), 16)
    if size > 466 then head = call('GETRANGE', key, '0', size + 557) end
    local due, keep, folders = string.match(head, '^%S+ (%S+) (%S+)([^\n]*)\n', 47 + size)
    due, keep = tonumber(due) or math.huge, tonumber(keep) or math.huge
    if keep <= now then
      forget(name, key, string.sub(head, 47, 46 + size), folders)
      at = nil
    elseif due <= late then out[#out + 1] = name
    elseif due == math.huge and keep == math.huge then at = nil
    else at = string.format('%.0f', math.min(due, keep)) end
  end
  if at then pcall('ZADD', due_set, at, name) else call('ZREM', due_set, name) end
end
return out)";

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
        case Script::sweep:
            return sweep_text;
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
