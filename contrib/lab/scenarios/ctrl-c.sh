#!/bin/sh
# goal: Ctrl-C ends a run within 2 s with what was measured, as exit 4
# method: SIGINT once the second RNIC is being probed; the report must hold the first one's paths and say why it ended
# needs: hostpingctl validate
# shellcheck source=../guest/lib.sh
. /lab/lib.sh

report=$RESULTS/report.json
hostpingctl diagnose --software-rnics --format json >"$report" 2>"$RESULTS/stderr" &
run=$!
probing() { rdma resource show qp | grep -v 'link rxe0' | grep -q 'type RC'; }
wait_until 30 probing || fail 'no second RNIC was probed'
kill -INT "$run"
started=$(cut -d' ' -f1 /proc/uptime)
code=0
wait "$run" || code=$?
took=$(awk -v a="$started" -v b="$(cut -d' ' -f1 /proc/uptime)" 'BEGIN { print b - a }')
echo "ended with $code after $took s"
[ "$code" -eq 4 ] || [ "$code" -eq 1 ] || fail "exit $code: $(cat "$RESULTS/stderr")"
awk -v took="$took" 'BEGIN { exit !(took < 2) }' || fail "it took $took s to end"
expect_valid report "$report"
jq -e '.run.interrupted and (.unmeasured | any(.planned)) and (.measurements | length > 0)' "$report" >/dev/null ||
  fail 'the report does not show an interrupted run with some paths measured'
jq -r '"\(.measurements | length) paths measured, \(.unmeasured | length) not; \(.run.end_reason)"' "$report"
