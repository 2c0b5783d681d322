#!/bin/sh
# goal: calibrate, merge and diagnose fit together: what a healthy host measured tells a slow device
# method: the fault-injecting provider in front of the real libibverbs holds all RNICs at one pace, below what emulated
#         CPUs reach, while two calibrations are made; then one RNIC at a third of it
# needs: hostpingctl validate libibverbs-fault.so
# deadline_s: 400
# noisy: yes
# shellcheck source=../guest/lib.sh
. /lab/lib.sh

# paced STATUS FAULTS COMMAND…: the devices as VERBS_FAULT says; fails unless the command ends with that status.
paced() {
  status=$1 faults=$2
  shift 2
  expect_exit "$status" env LD_PRELOAD=/lab/test/libibverbs-fault.so VERBS_FAULT="$faults" hostpingctl "$@"
}
# Emulated CPUs on a busy machine miss the pace by a fifth and more; the faults here are far beyond that.
export HOSTPING_PATH_THRESHOLD=0.4
healthy='*:bandwidth_gbps=0.1'
rxe1_slow="rxe1:bandwidth_gbps=0.03;$healthy"

# Rounds take time on emulated CPUs: not every run is over all RNICs.
paced 0 "$healthy" calibrate --software-rnics --rounds 3 --out "$RESULTS/host1.json"
cat "$RESULTS/stdout"
paced 0 "$healthy" calibrate --software-rnics --rnic rxe2 --rounds 3 --out "$RESULTS/host2.json"
expect_exit 0 hostpingctl calibrate --merge "$RESULTS/host1.json" "$RESULTS/host2.json" --out "$RESULTS/baseline.json"
expect_valid baseline "$RESULTS/baseline.json"
expect 'calibrations after merging' 2 "$(jq '.calibrations | length' "$RESULTS/baseline.json")"
expect 'driver and platform of the keys' true "$(jq 'all(.entries[].key; .role == "software" and .driver != "" and .platform != "" and .rate_gbps == null)' "$RESULTS/baseline.json")"

# A host with a slow device is no model for others.
paced 3 "$rxe1_slow" calibrate --software-rnics --rnic rxe0,rxe1 --rounds 3 --out "$RESULTS/sick.json"
cat "$RESULTS/stderr"
grep -q 'rxe1→mem' "$RESULTS/stderr" || fail 'the refusal does not name rxe1'
[ ! -e "$RESULTS/sick.json" ] || fail 'a refused calibration left a file'

paced 0 "$healthy" diagnose --software-rnics --format json --baseline-file "$RESULTS/baseline.json"
cp "$RESULTS/stdout" "$RESULTS/healthy.json"
expect 'expectations by calibration' true "$(jq 'all(.measurements[]; .baseline.source == "calibration" and .rule == "baseline")' "$RESULTS/healthy.json")"

paced 1 "$rxe1_slow" diagnose --software-rnics --format json --baseline-file "$RESULTS/baseline.json"
cp "$RESULTS/stdout" "$RESULTS/slow.json"
expect_valid report "$RESULTS/slow.json"
jq -r '.measurements[] | "\(.rnic) \(.endpoint): \(.bandwidth_gbps * 1000 | round) of \(.baseline.bandwidth_gbps * 1000 | round) Mb/s \(.verdict)"' "$RESULTS/slow.json"
expect 'the part to blame' rnic_pcie:rxe1 "$(jq -r '.diagnoses[].component' "$RESULTS/slow.json")"
expect 'what judged it' true "$(jq '[.measurements[] | select(.rnic == "rxe1")] | length == 2 and all(.[]; .verdict == "abnormal" and .rule == "baseline")' "$RESULTS/slow.json")"
