#!/bin/sh
# goal: traffic of others makes an RNIC busy: no idle run, a busy run by itself, and idle again within two samples
# needs: hostpingctl validate ib_write_bw jq
# deadline_s: 150
# noisy: yes
# shellcheck source=../guest/lib.sh
. /lab/lib.sh

connect_devices

# state JSON_FILTER: one sample of the monitor.
sample() { hostpingctl monitor --software-rnics --once --format json >"$RESULTS/sample.json" && jq -r "$1" "$RESULTS/sample.json"; }

expect 'before any traffic' idle "$(sample .idle.state)"
expect_valid monitor "$RESULTS/sample.json"

# rxe0 and rxe2 talk to each other for long enough.
ib_write_bw -d rxe0 -x 1 -F -D 100 -s 65536 -p 18600 >"$RESULTS/server" 2>&1 &
server=$!
wait_until 10 sh -c 'netstat -ltn | grep -q :18600' || fail 'ib_write_bw does not listen'
ib_write_bw -d rxe2 -x 1 -F -D 100 -s 65536 -p 18600 127.0.0.1 >"$RESULTS/client" 2>&1 &
client=$!
loaded() { [ "$(sample '.rnics[] | select(.id == "rxe2") | .out_bytes_per_second // 0 | . > 1e6')" = true ]; }
wait_until 20 loaded || fail "ib_write_bw moves nothing: $(tail -n 1 "$RESULTS/client")"

# The line rate of a soft-RoCE device is made up, and emulated CPUs are slow: the share that counts as busy is set so that
# the traffic of ib_write_bw is well above it.
share=$(jq '.rnics[] | select(.id == "rxe2") | .utilization / 6' "$RESULTS/sample.json")
echo "rxe2 is at $(jq '.rnics[] | select(.id == "rxe2") | .utilization * 100 | floor' "$RESULTS/sample.json") % of its line rate; idle is below a sixth of that"

hostpingctl monitor --software-rnics --once --rnic-idle-threshold "$share" --format json >"$RESULTS/busy.json"
expect 'under ib_write_bw' busy "$(jq -r .idle.state "$RESULTS/busy.json")"
expect 'the RNICs that are busy' 'rxe0 rxe2' "$(jq -r '[.idle.rnics[] | select(.busy) | .id] | join(" ")' "$RESULTS/busy.json")"

expect_exit 3 hostpingctl diagnose --software-rnics --rnic-idle-threshold "$share" --mode idle
grep -q 'the host is busy: rxe0: busy for' "$RESULTS/stderr" || fail "the refusal does not name the RNIC: $(cat "$RESULTS/stderr")"
expect 'stdout of a refused run' '' "$(cat "$RESULTS/stdout")"

code=0
hostpingctl diagnose --software-rnics --rnic-idle-threshold "$share" --rnic rxe1 --format json --output "$RESULTS/report.json" || code=$?
case $code in 0 | 1 | 4) ;; *) fail "the busy run ended with $code" ;; esac
expect 'the mode that auto takes' busy "$(jq -r .run.mode "$RESULTS/report.json")"
expect_valid report "$RESULTS/report.json"

kill "$client" "$server" 2>/dev/null || true
wait "$client" "$server" 2>/dev/null || true
# Two samples a second apart, of one monitor: the second is over a second without traffic.
timeout 8 hostpingctl monitor --software-rnics --format json 2>/dev/null | head -n 2 >"$RESULTS/after.json" || true
expect 'two samples after it stopped' idle "$(tail -n 1 "$RESULTS/after.json" | jq -r .idle.state)"
