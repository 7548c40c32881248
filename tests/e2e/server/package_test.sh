#!/usr/bin/env bash
# Builds the .deb into a directory of its own and looks whether everything is in it, and nothing else.
set -euo pipefail

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() {
    echo "package_test: $*" >&2
    exit 1
}

cpack -G DEB --config "$HOLDFAST_BUILD/CPackConfig.cmake" -B "$scratch/out" >"$scratch/log" 2>&1 || {
    cat "$scratch/log" >&2
    fail "cpack failed"
}
packages=("$scratch"/out/*.deb)
[[ ${#packages[@]} -eq 1 && -f ${packages[0]} ]] || fail "expected one package, found: ${packages[*]}"
package=${packages[0]}
[[ $(basename "$package") == holdfast_*.deb ]] || fail "its name is $(basename "$package")"

root=$scratch/root
dpkg-deb -x "$package" "$root"
expected=(
    usr/bin/holdfast
    usr/lib/systemd/system/holdfast-drone.service
    usr/lib/systemd/system/holdfast.service
    usr/share/bash-completion/completions/holdfast
    usr/share/doc/holdfast/CHANGELOG.md
    usr/share/doc/holdfast/README.md
    usr/share/doc/holdfast/copyright
    usr/share/doc/holdfast/http-api.md
    usr/share/doc/holdfast/operations.md
    usr/share/doc/holdfast/semantics.md
    usr/share/fish/vendor_completions.d/holdfast.fish
    usr/share/man/man1/holdfast.1
    usr/share/zsh/vendor-completions/_holdfast
)
diff <(printf '%s\n' "${expected[@]}" | sort) <(cd "$root" && find . -type f -printf '%P\n' | sort) ||
    fail "the files in it are not the ones above with <"
(cd "$root" && find . -type f -size 0 | grep .) && fail "these files are empty"

[[ $(dpkg-deb -f "$package" Package) == holdfast ]] || fail "wrong package name"
version=$(dpkg-deb -f "$package" Version)
depends=$(dpkg-deb -f "$package" Depends)
for library in libc6 libsqlite3-0 libprotobuf-lite libre2; do
    [[ $depends == *$library* ]] || fail "it does not depend on $library: $depends"
done
dpkg-deb -e "$package" "$scratch/control"
for script in postinst prerm postrm; do
    [[ -x $scratch/control/$script ]] || fail "no $script"
    sh -n "$scratch/control/$script"
done

said=$("$root/usr/bin/holdfast" --version)
[[ $said == *"$version"* ]] || fail "--version says '$said', the package is version $version"
exec_start=$(sed -n 's/^ExecStart=\([^ ]*\).*/\1/p' "$root/usr/lib/systemd/system/holdfast.service")
[[ -x $root$exec_start ]] || fail "the unit starts $exec_start, which is not in the package"
bash -n "$root/usr/share/bash-completion/completions/holdfast"
grep -q '^#compdef holdfast' "$root/usr/share/zsh/vendor-completions/_holdfast" || fail "no zsh completion"
warnings=$(man --warnings -l -Tutf8 "$root/usr/share/man/man1/holdfast.1" 2>&1 >/dev/null)
[[ -z $warnings ]] || fail "the man page: $warnings"
echo "package_test: $(basename "$package") is complete"
