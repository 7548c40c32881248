#!/usr/bin/env bash
# Runs the packaged units under a real systemd, as process 1 of namespaces of its own, on a copy of this machine's root that is
# thrown away. Skipped (77) where there is no systemd, or no right to make such namespaces.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

skip() {
    echo "systemd_test: skipped: $*"
    exit 77
}

# The root of the new systemd: everything of this one to read, and a memory to write to.
make_root() {
    local root=$1 device
    mount -t tmpfs none "$root"
    mkdir "$root"/{upper,work,new}
    mount -t overlay none -o "lowerdir=/,upperdir=$root/upper,workdir=$root/work" "$root/new" || return 1
    cd "$root/new"
    mount -t proc proc proc
    mount -t sysfs -o ro sysfs sys
    mount -t tmpfs none sys/fs/cgroup
    mount -t cgroup2 none sys/fs/cgroup || return 1
    for device in run tmp dev; do mount -t tmpfs -o mode=755 none $device; done
    for device in null zero full random urandom tty; do
        touch dev/$device
        mount --bind /dev/$device dev/$device
    done
    mkdir dev/pts dev/shm
    mount -t devpts none dev/pts
    ln -s pts/ptmx dev/ptmx
    ln -s /proc/self/fd dev/fd
}

# What this machine may have of Holdfast is out of sight.
install_units() {
    rm -rf etc/holdfast etc/default/holdfast* var/lib/holdfast* var/lib/private/holdfast*
    mkdir -p etc/holdfast etc/default out
    cp "$HOLDFAST_BIN" usr/bin/holdfast
    cp "$HOLDFAST_SOURCE"/packaging/holdfast{,-drone}.service usr/lib/systemd/system/
    cp "$here/systemd_checks.sh" checks.sh
    mount --bind "$scratch/out" out
    cat >etc/systemd/system/checks.service <<'UNIT'
[Unit]
DefaultDependencies=no
[Service]
Type=oneshot
TimeoutStartSec=240
ExecStart=/bin/bash /checks.sh
StandardOutput=append:/out/log
StandardError=append:/out/log
ExecStopPost=/bin/systemctl exit 0 --force --force
UNIT
}

if [[ ${1-} == inside ]]; then
    scratch=$2
    mount --make-rprivate /
    make_root "$scratch/root" >"$scratch/out/trouble" 2>&1 || exit 77
    install_units
    ip link set lo up
    mkdir old
    pivot_root . old
    umount -l /old
    mount --make-rshared /
    exec env -i container=holdfast-test /lib/systemd/systemd --system --unit=checks.service --show-status=no
fi

[[ $(id -u) == 0 ]] || skip "only root can run a systemd of its own"
[[ -x /lib/systemd/systemd ]] || skip "there is no systemd here"
# A control group of its own: a systemd takes all below its root for its own.
unified=$(awk '/ - cgroup2 / { print $5; exit }' /proc/self/mountinfo)
own=$(sed -n 's/^0:://p' /proc/self/cgroup)
group=$unified${own%/}/holdfast-systemd-test-$$
[[ -n $unified && -n $own ]] && mkdir "$group" 2>/dev/null || skip "no control group can be made"
scratch=$(mktemp -d)
clean_up() {
    local left=100
    echo 1 2>/dev/null >"$group/cgroup.kill" || true
    until find "$group" -depth -type d -exec rmdir {} + 2>/dev/null || ((left-- == 0)); do sleep 0.1; done
    rm -rf "$scratch"
}
trap clean_up EXIT
mkdir "$scratch"/{root,out}
code=0
timeout -k 5 280 bash -c 'echo 0 >"$1/cgroup.procs" && exec unshare "${@:2}"' - "$group" \
    --pid --mount --uts --ipc --net --cgroup --fork --kill-child bash "$0" inside "$scratch" || code=$?
cat "$scratch/out/log" 2>/dev/null || true
[[ $code != 77 ]] || skip "$(tail -1 "$scratch/out/trouble")"
grep -qx 'all checks passed' "$scratch/out/log" || exit 1
