#pragma once

namespace holdfast::bench {

/// What is behind a proxy: reads one byte, and for `e` echoes it and hangs up, for `d` sends without end. Listens on a
/// port of its own, which it prints; with a relay's port it is also a publisher, of the service `direct`, that answers
/// offers itself. Serves until it is killed.
int run_backend(int relay_port);

}  // namespace holdfast::bench
