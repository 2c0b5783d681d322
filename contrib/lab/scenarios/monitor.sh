#!/bin/sh
# goal: the monitor tells the load, says what it cannot read, and lives through links that go down, devices that go, come back and are made anew
# needs: hostpingctl validate jq
# deadline_s: 150
# shellcheck source=../guest/lib.sh
. /lab/lib.sh

hostpingctl monitor --software-rnics --format json >"$RESULTS/samples" 2>"$RESULTS/stderr" &
monitor=$!

# latest FILTER: of the monitor that has been running all the time.
latest() { tail -n 1 "$RESULTS/samples" | jq -r "$1" 2>/dev/null; }
# shows FILTER: it has become true.
shows() { [ "$(latest "$1")" = true ]; }
becomes() { wait_until 20 shows "$2" || fail "$1: still $(latest '{idle, troubles}')"; }
rnic() { echo ".rnics[] | select(.id == \"$1\")"; }

becomes 'an idle host' '.idle.state == "idle"'
tail -n 1 "$RESULTS/samples" >"$RESULTS/first.json"
expect_valid monitor "$RESULTS/first.json"
echo 'sources of this host:'
latest '.sources[] | "  \(.name) \(.state) \(.reason)"'
expect 'pauses of virtio' unavailable "$(latest '.sources[] | select(.name == "rnic_pause") | .state')"
latest '.sources[] | select(.name == "rnic_pause") | .reason' | grep -q 'driver "virtio_net"' || fail 'the reason does not name the driver'
expect 'GPUs' unavailable "$(latest '.sources[] | select(.name == "gpu") | .state')"
expect 'evidence' ok "$(latest '.sources[] | select(.name == "rnic_errors") | .state')"

echo 'link down'
ip link set eth1 down
becomes 'rxe1 without link' "($(rnic rxe1)).state == \"DOWN\""
ip link set eth1 up
becomes 'rxe1 with link' "($(rnic rxe1)).state == \"ACTIVE\""

echo 'device removed and back'
rdma link delete rxe3
becomes 'rxe3 gone' "($(rnic rxe3)).state == \"\""
expect 'rxe0 meanwhile' true "$(latest "($(rnic rxe0)).utilization != null")"
rdma link add rxe3 type rxe netdev eth3
becomes 'rxe3 back, without a restart' "($(rnic rxe3)).state == \"ACTIVE\" and .idle.state == \"idle\""

echo 'counters reset by making the device anew'
hostpingctl diagnose --software-rnics --rnic rxe2 >/dev/null 2>&1 || true
rdma link delete rxe2
rdma link add rxe2 type rxe netdev eth2
becomes 'rxe2 anew' "($(rnic rxe2)).state == \"ACTIVE\" and .idle.state == \"idle\""
expect 'negative figures' 0 "$(jq -s '[.. | numbers | select(. < 0)] | length' "$RESULTS/samples")"

echo 'removed for good, and the NIC with it'
unplug rxe0
becomes 'rxe0 unplugged' "($(rnic rxe0)).state == \"\" and .idle.state == \"unknown\""
latest '.idle.reasons[0]' | grep -q '^rxe0: .*(source rnic_port)' || fail 'the reason does not name device and source'

kill -INT "$monitor"
code=0
wait "$monitor" || code=$?
expect 'exit status after Ctrl-C' 0 "$code"
expect 'stderr' '' "$(cat "$RESULTS/stderr")"
