#!/bin/sh
# Installs the library into an empty prefix, builds the example project against it as a stranger would, by CMake and by
# pkg-config, and runs both with an authority of their own and with a real server, and a service behind its relay.
set -eu

: "${HOLDFAST_BUILD:?}" "${HOLDFAST_SOURCE:?}" "${HOLDFAST_BIN:?}"
scratch=$(mktemp -d)
server=
service=
finish() {
    for process in $service $server; do kill "$process" 2>/dev/null && wait "$process" || true; done
    rm -rf "$scratch"
}
trap finish EXIT
fail() {
    echo "FAILED: $*" >&2
    exit 1
}

prefix=$scratch/prefix
for component in library development; do
    cmake --install "$HOLDFAST_BUILD" --prefix "$prefix" --component $component >"$scratch/install.log" ||
        fail "cmake --install: $(cat "$scratch/install.log")"
done
library=$(find "$prefix" -name libholdfast.so)
[ -n "$library" ] || fail "no libholdfast.so was installed"
libdir=$(dirname "$library")

# Only what the headers offer is to be seen from outside.
nm -DC --defined-only "$library" | sed 's/^[0-9a-f]* . //' >"$scratch/symbols"
grep -q '^holdfast::Client::acquire' "$scratch/symbols" || fail "the library does not offer Client::acquire"
hidden=$(grep -vE '^(non-virtual |typeinfo |vtable )?(for )?holdfast::(Agent|Client|Lease|LeaseManager|Local|Poll|Publisher|Work)::|^holdfast::connect_service\(|^holdfast::to_string\(holdfast::(IntentState|Outcome|Ownership|Predicate)\)|^holdfast::predicate_of\(' \
    "$scratch/symbols" || true)
[ -z "$hidden" ] || fail "the library shows what it should hide: $hidden"

# By CMake. The headers must do without any other library's.
cp -r "$HOLDFAST_SOURCE/examples" "$scratch/examples"
cmake -S "$scratch/examples" -B "$scratch/by-cmake" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release \
    >"$scratch/cmake.log" 2>&1 || fail "configuring the example: $(cat "$scratch/cmake.log")"
cmake --build "$scratch/by-cmake" >"$scratch/cmake.log" 2>&1 || fail "building the example: $(cat "$scratch/cmake.log")"

# By pkg-config, with every warning an error.
export PKG_CONFIG_PATH="$libdir/pkgconfig"
flags=$(pkg-config --cflags --libs holdfast)
compiler=${CXX:-c++}
# shellcheck disable=SC2086
$compiler -std=c++20 -Wall -Wextra -Wpedantic -Werror "$scratch/examples/worker.cpp" $flags -Wl,-rpath,"$libdir" \
    -o "$scratch/by-pkg-config"
# shellcheck disable=SC2086
if $compiler -std=c++20 -M "$scratch/examples/worker.cpp" $flags | grep -q '/boost/'; then fail "a header needs Boost"; fi

check_run() {
    output=$("$@") || fail "$* ended with $?"
    echo "$output" | grep -q 'holds example:report#[0-9]' || fail "$* said: $output"
    echo "$output" | grep -q 'page 3' || fail "$* said: $output"
}
check_run "$scratch/by-cmake/worker" --local
check_run "$scratch/by-pkg-config" --local

# await PID FILE PATTERN: waits until the process has written this, and prints the first of it.
await() {
    tries=0
    until found=$(grep -o "$3" "$2"); do
        tries=$((tries + 1))
        [ $tries -lt 600 ] && kill -0 "$1" 2>/dev/null || fail "it never wrote $3: $(cat "$2")"
        sleep 0.05
    done
    echo "$found" | head -n 1
}
"$HOLDFAST_BIN" serve --http 127.0.0.1:0 --state-dir "$scratch/state" >"$scratch/serve.log" 2>&1 &
server=$!
HOLDFAST_SERVER=$(await $server "$scratch/serve.log" 'http://127.0.0.1:[0-9]*')
HOLDFAST_RELAY_SERVER=$(await $server "$scratch/serve.log" 'relays to services on .*' | sed 's/.* //')
export HOLDFAST_SERVER HOLDFAST_RELAY_SERVER HOLDFAST_IDENTITY="$scratch/identity.pem"
check_run "$scratch/by-cmake/worker"
check_run "$scratch/by-pkg-config"
output=$("$scratch/by-cmake/agent" writer "$scratch/digest" 3 2>"$scratch/steps") || fail "the agent: $(cat "$scratch/steps")"
echo "$output" | grep -q 'page 3, written with token [0-9]' || fail "the agent said: $output"
grep -q 'EXECUTING -> COMPLETED' "$scratch/steps" || fail "the agent told no steps: $(cat "$scratch/steps")"

"$scratch/by-cmake/service" offer oracle 2 >"$scratch/asked" 2>"$scratch/events" &
service=$!
await $service "$scratch/events" 'oracle is registered' >"$scratch/found"
for question in why when; do
    output=$("$scratch/by-cmake/service" ask oracle $question) || fail "asking: $output $(cat "$scratch/events")"
    [ "$output" = "$question? That is a good question." ] || fail "the service said: $output"
done
wait $service || fail "the service ended with $?: $(cat "$scratch/events")"
service=
[ "$(cat "$scratch/asked")" = "oracle was asked: why
oracle was asked: when" ] || fail "the service heard: $(cat "$scratch/asked")"
grep -q 'oracle is not advertised any more' "$scratch/events" || fail "the service did not leave: $(cat "$scratch/events")"
if "$scratch/by-cmake/service" ask oracle who 2>"$scratch/refused"; then fail "somebody answered"; fi
grep -q '^unknown_service' "$scratch/refused" || fail "the asker was told: $(cat "$scratch/refused")"

kill $server
wait $server || true
server=
status=0
HOLDFAST_SERVER="$HOLDFAST_SERVER" timeout 60 "$scratch/by-cmake/worker" 2>"$scratch/unreachable" || status=$?
[ $status -eq 4 ] || fail "without a server the example ended with $status: $(cat "$scratch/unreachable")"
echo "the installed library works by CMake and by pkg-config, locally and with a server"
