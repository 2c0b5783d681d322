#!/bin/sh
# goal: a completion that never comes ends its probe at the deadline, under its own name; other devices are measured
# method: the fault-injecting provider swallows completions of one RNIC
# needs: hostpingctl validate libibverbs-fault.so
# deadline_s: 120
# shellcheck source=../guest/lib.sh
. /lab/lib.sh

report=$RESULTS/report.json
code=0
LD_PRELOAD=/lab/test/libibverbs-fault.so VERBS_FAULT=rxe2:lose_after=100 \
  hostpingctl diagnose --software-rnics --format json >"$report" 2>"$RESULTS/stderr" || code=$?
[ "$code" -eq 4 ] || [ "$code" -eq 1 ] || fail "diagnose ended with $code: $(cat "$RESULTS/stderr")"
expect_valid report "$report"
expect 'unmeasured paths' 'rxe2 mem0 lost_completion
rxe2 mem1 lost_completion' "$(jq -r '.unmeasured[] | select(.planned) | "\(.rnic) \(.endpoint) \(.reason)"' "$report" | sort)"
expect 'measured paths' 6 "$(jq '.measurements | length' "$report")"
jq -r '.unmeasured[0].detail' "$report"
