#!/bin/sh
# goal: a device that vanishes while it is probed costs its own paths and nothing else
# method: rdma link delete on the last RNIC while the run is under way; its paths must be unmeasured as device_removed
# needs: hostpingctl
# deadline_s: 120
# shellcheck source=../guest/lib.sh
. /lab/lib.sh

report=$RESULTS/report.json
hostpingctl diagnose --software-rnics --format json >"$report" 2>"$RESULTS/stderr" &
run=$!
# Queue pairs of rxe3 exist only while it is probed.
wait_until 60 sh -c "rdma resource show qp link rxe3 | grep -q 'type RC'" || fail 'rxe3 was never probed'
rdma link delete rxe3
code=0
wait "$run" || code=$?
echo "exit $code"
[ "$code" -eq 4 ] || [ "$code" -eq 1 ] || fail "diagnose ended with $code: $(cat "$RESULTS/stderr")"
jq -e 'any(.unmeasured[]; .planned and .rnic == "rxe3" and .reason == "device_removed")' "$report" >/dev/null ||
  fail "no path of rxe3 is unmeasured as device_removed: $(jq -c .unmeasured "$report")"
expect 'measured paths of the others' 6 "$(jq '[.measurements[] | select(.rnic != "rxe3")] | length' "$report")"
jq -r '.unmeasured[] | "\(.rnic) \(.endpoint) \(.reason): \(.detail)"' "$report"
