#!/bin/sh
# goal: one run on real verbs measures every path from every RNIC to every memory node
# method: diagnose with --software-rnics; 4 RNICs x 2 memory nodes must all be in the report, with sane figures
# needs: hostpingctl validate
# deadline_s: 90
# shellcheck source=../guest/lib.sh
. /lab/lib.sh

report=$RESULTS/report.json
code=0
hostpingctl diagnose --software-rnics --format json >"$report" 2>"$RESULTS/stderr" || code=$?
cat "$RESULTS/stderr"
# Software devices have no baseline: nothing to blame them by is 0 or 4. Emulated CPUs are noisy enough that siblings
# may differ, so a diagnosis is shown, not failed; the scenario slow-device is about blame.
[ "$code" -eq 0 ] || [ "$code" -eq 1 ] || [ "$code" -eq 4 ] || fail "diagnose ended with $code"
expect_valid report "$report"
jq -e '.schema == "hostping.report/v1" and .run.backend == "live" and .run.interrupted == false' "$report" >/dev/null ||
  fail 'the report has another schema, backend or an interruption'
jq -r '.diagnoses[] | "diagnosis \(.code) \(.component)"' "$report"

want=$(fact '.memory_nodes as $nodes | .rnics[] | .rnic as $r | $nodes[] | "\($r) mem\(.id)"' | sort)
got=$(jq -r '.measurements[] | "\(.rnic) \(.endpoint)"' "$report" | sort)
expect 'measured paths' "$want" "$got"
expect 'planned paths without a measurement' '' "$(jq -r '.unmeasured[] | select(.planned) | "\(.rnic) \(.endpoint) \(.reason)"' "$report")"
jq -e 'all(.measurements[];
  .bandwidth_gbps > 0 and .latency_us.min > 0 and .latency_us.min <= .latency_us.p50 and .latency_us.p50 <= .latency_us.p99
  and .latency_us.p99 <= .latency_us.max and .latency_us.samples > 0 and (.reads | length) > 0)' "$report" >/dev/null ||
  fail 'a measurement has a figure that cannot be'
jq -r '.measurements[] | "\(.rnic) \(.endpoint) \(.class): \(.bandwidth_gbps * 1000 | round) Mb/s, p50 \(.latency_us.p50) us, \(.reads | length) reads"' "$report"
jq -r '"run of \(.run.duration_ms / 1000) s"' "$report"
