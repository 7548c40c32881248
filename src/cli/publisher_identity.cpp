#include <boost/json/object.hpp>

#include "base/encodings.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/screen.h"
#include "discovery/identity/identity.h"

namespace holdfast {
namespace {

std::string file_of(const Arguments& arguments) {
    return arguments.identity_file.empty() ? default_identity_file() : arguments.identity_file;
}

int fail_with_file(const Screen& screen, const Error& error) {
    if (screen.json())
        screen.show(boost::json::object{{"error", {{"code", error.code}, {"message", error.message}}}});
    else
        screen.complain(error.message);
    return exit_failed;
}

void show(const Screen& screen, const Identity& identity, const std::string& file) {
    const std::string key = to_base64url(identity.public_key());
    if (screen.json())
        return screen.show(boost::json::object{{"id", identity.id()}, {"public_key", key}, {"file", file}});
    screen.line("id          " + identity.id());
    screen.line("public key  " + key);
    screen.line("file        " + file);
}

}  // namespace

int identity_new_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    const std::string file = file_of(arguments);
    const Identity identity = Identity::generate();
    if (const auto saved = identity.save_new(file); !saved) return fail_with_file(screen, saved.error());
    show(screen, identity, file);
    return exit_ok;
}

int identity_show_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    const std::string file = file_of(arguments);
    const auto identity = Identity::load(file);
    if (!identity) return fail_with_file(screen, identity.error());
    show(screen, *identity, file);
    return exit_ok;
}

}  // namespace holdfast
