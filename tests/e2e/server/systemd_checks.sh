#!/usr/bin/env bash
# What systemd_test.sh runs below a systemd of its own.
set -uo pipefail
export HOME=/root HOLDFAST_SERVER=http://127.0.0.1:7400

fail() {
    echo "FAILED: $*"
    systemctl status --no-pager -n 0 holdfast.service holdfast-drone.service
    journalctl --no-pager -n 40 2>/dev/null
    exit 1
}
# eventually COMMAND…: waits until it succeeds.
eventually() {
    local left=600
    until "$@" >/dev/null 2>&1; do
        ((left--)) || fail "never happened: $*"
        sleep 0.1
    done
}
restarts() { systemctl show -P NRestarts holdfast.service; }

echo "$(systemctl --version | head -1)"
# Older ones do not know of the growing pause between restarts and say so.
said=$(systemd-analyze verify --man=no holdfast.service holdfast-drone.service 2>&1 |
    grep -v "Unknown key.*'Restart\(Steps\|MaxDelaySec\)'")
[[ -z $said ]] || fail "the units are not right: $said"

echo "a restart keeps every lease"
systemctl start holdfast.service || fail "it does not start"
token=$(holdfast acquire kept --ttl 60s 2>/dev/null | cut -d' ' -f2)
systemctl restart holdfast.service || fail "it does not restart"
holdfast list --json | grep -q "\"token\":$token" || fail "the lease is gone"
[[ $(stat -c %a /var/lib/private/holdfast) == 700 ]] || fail "others can look into its state"

echo "a drone runs backends in control groups of their own"
systemctl start holdfast-drone.service || fail "the drone does not start"
eventually holdfast backend connect room --ready started --spawn 'exec sleep 1000'
eventually grep -rqs 'populated 1' /sys/fs/cgroup/system.slice/holdfast-drone.service/holdfast-*/cgroup.events
systemctl stop holdfast-drone.service || fail "the drone does not stop"
systemctl stop holdfast.service

echo "a node of a cluster reads a secret that only root can read"
printf 'a secret of more than sixteen bytes\n' >/etc/holdfast/cluster.secret
chmod 600 /etc/holdfast/cluster.secret
rm -rf /var/lib/private/holdfast
printf 'HOLDFAST_NODE=a\nHOLDFAST_PEERS=a=127.0.0.1:7402,b=127.0.0.1:7412,c=127.0.0.1:7422\n' >/etc/default/holdfast
systemctl start holdfast.service || fail "it cannot read the secret"
holdfast quorum status >/dev/null 2>&1
[[ $? -le 1 ]] || fail "it is no node of a cluster"
systemctl stop holdfast.service

echo "an address that comes late is waited for"
rm -rf /var/lib/private/holdfast
printf 'HOLDFAST_HTTP=10.254.254.1:7400\nHOLDFAST_INSECURE=true\n' >/etc/default/holdfast
systemctl start --no-block holdfast.service
enough() { [[ $(restarts) -ge 6 ]]; } # more than systemd allows by itself
eventually enough
ip address add 10.254.254.1/32 dev lo
eventually systemctl is-active --quiet holdfast.service
systemctl stop holdfast.service

echo "all checks passed"
