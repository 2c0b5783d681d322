#!/bin/sh
# goal: a device that is slower than its siblings is blamed, with the code and component of its link
# method: the fault-injecting provider in front of the real libibverbs paces one RNIC at a third of the others, and those
#         below what emulated CPUs reach, so that their noise does not show
# needs: hostpingctl libibverbs-fault.so
# deadline_s: 90
# shellcheck source=../guest/lib.sh
. /lab/lib.sh

expect_exit 1 env LD_PRELOAD=/lab/test/libibverbs-fault.so VERBS_FAULT='rxe1:bandwidth_gbps=0.03;*:bandwidth_gbps=0.1' \
  hostpingctl diagnose --software-rnics --format json
cp "$RESULTS/stdout" "$RESULTS/report.json"
jq -r '.measurements[] | "\(.rnic) \(.endpoint): \(.bandwidth_gbps * 1000 | round) Mb/s \(.verdict)"' "$RESULTS/report.json"
jq -r '.diagnoses[] | "\(.code) \(.component) (confidence \(.confidence))"' "$RESULTS/report.json"
jq -e 'any(.diagnoses[]; .code == "rnic_pcie_failure" and .component == "rnic_pcie:rxe1")' "$RESULTS/report.json" >/dev/null ||
  fail 'rxe1 is not blamed'
