#include "cli/commands.h"
#include "server/server.h"

namespace holdfast {

int serve_command(const Arguments& arguments) {
    ServeOptions options = arguments.serve;
    options.log_json = options.log_json || arguments.common.json;
    return run_server(options);
}

}  // namespace holdfast
