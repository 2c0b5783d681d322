#!/bin/sh
# goal: a device that is slower than its siblings is blamed, by the code and component of its link; equal ones are not
# method: the fault-injecting provider in front of the real libibverbs paces all devices below what emulated CPUs reach,
#         so that their noise does not show; then one of them at a third of the others
# needs: hostpingctl validate libibverbs-fault.so
# deadline_s: 120
# noisy: yes
# shellcheck source=../guest/lib.sh
. /lab/lib.sh

# paced FAULTS REPORT: a run with the devices made as VERBS_FAULT says; its exit status in code.
paced() {
  code=0
  LD_PRELOAD=/lab/test/libibverbs-fault.so VERBS_FAULT=$1 \
    hostpingctl diagnose --software-rnics --format json >"$2" 2>"$RESULTS/stderr" || code=$?
  cat "$RESULTS/stderr"
  jq -r '.measurements[] | "\(.rnic) \(.endpoint): \(.bandwidth_gbps * 1000 | round) Mb/s \(.verdict)"' "$2"
  jq -r '.diagnoses[] | "\(.code) \(.component) (confidence \(.confidence))"' "$2"
}

echo 'all alike:'
paced '*:bandwidth_gbps=0.1' "$RESULTS/alike.json"
expect 'diagnoses of equal devices' 0 "$(jq '.diagnoses | length' "$RESULTS/alike.json")"
[ "$code" -eq 0 ] || [ "$code" -eq 4 ] || fail "exit $code with equal devices"

echo 'rxe1 slow:'
paced 'rxe1:bandwidth_gbps=0.03;*:bandwidth_gbps=0.1' "$RESULTS/slow.json"
expect 'exit status with a slow device' 1 "$code"
expect_valid report "$RESULTS/slow.json"
expect 'diagnoses with a slow device' 'rnic_pcie_failure rnic_pcie:rxe1' \
  "$(jq -r '.diagnoses[] | "\(.code) \(.component)"' "$RESULTS/slow.json")"
