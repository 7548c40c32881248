#pragma once

#include <holdfast/agent.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

/// What the snippets of the documentation call and do not define: it is the reader's own.
namespace page {

int report(holdfast::Outcome outcome, const std::string& message);
int report(const std::optional<holdfast::Failure>& why);

bool more_to_do();
void write_next(std::uint64_t token);

extern const int files;
void rewrite(int file, std::uint64_t token);
void log(const holdfast::Step& step);

extern bool running;
extern const std::vector<std::string> sessions;
void fetch(const std::string& session, const std::function<bool()>& may_go_on);
void sleep();

}  // namespace page
