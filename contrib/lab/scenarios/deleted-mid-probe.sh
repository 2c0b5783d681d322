#!/bin/sh
# goal: a device that vanishes while it is probed costs its own paths and nothing else
# method: rdma link delete on the last RNIC while the fault-injecting provider keeps its probe going; its paths must be
#         unmeasured as device_removed, and the others measured
# needs: hostpingctl validate libibverbs-fault.so
# deadline_s: 120
# shellcheck source=../guest/lib.sh
. /lab/lib.sh

report=$RESULTS/report.json
LD_PRELOAD=/lab/test/libibverbs-fault.so VERBS_FAULT=rxe3:latency_us=100000 \
  hostpingctl diagnose --software-rnics --format json >"$report" 2>"$RESULTS/stderr" &
run=$!
# Queue pairs of rxe3 exist only while it is probed.
wait_until 60 sh -c "rdma resource show qp link rxe3 | grep -q 'type RC'" || fail 'rxe3 was never probed'
rdma link delete rxe3
code=0
wait "$run" || code=$?
echo "exit $code"
[ "$code" -eq 4 ] || [ "$code" -eq 1 ] || fail "diagnose ended with $code: $(cat "$RESULTS/stderr")"
expect_valid report "$report"
expect 'unmeasured paths' 'rxe3 mem0 device_removed
rxe3 mem1 device_removed' "$(jq -r '.unmeasured[] | select(.planned) | "\(.rnic) \(.endpoint) \(.reason)"' "$report" | sort)"
expect 'measured paths of the others' 6 "$(jq '[.measurements[] | select(.rnic != "rxe3")] | length' "$report")"
jq -r '.unmeasured[] | "\(.rnic) \(.endpoint) \(.reason): \(.detail)"' "$report"
