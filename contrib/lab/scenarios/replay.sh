#!/bin/sh
# goal: a report of real verbs, judged anew, is the same report byte by byte, slow device, interruption and all; and two
#       such reports compare
# method: runs with equal devices, with a slow one and with an interruption; each through replay; compare the first two.
#         The reports stay in the results: replay on the machine that holds those must give the same bytes, too
# needs: hostpingctl validate libibverbs-fault.so
# deadline_s: 180
# noisy: yes
# shellcheck source=../guest/lib.sh
. /lab/lib.sh

# again NAME CODE: replay of NAME.json ends with CODE and gives its bytes.
again() {
  expect_valid report "$RESULTS/$1.json"
  code=0
  hostpingctl replay --format json "$RESULTS/$1.json" >"$RESULTS/$1.replayed.json" || code=$?
  expect "exit status of the replay of $1" "$2" "$code"
  cmp "$RESULTS/$1.json" "$RESULTS/$1.replayed.json" || fail "the replay of $1 is another report"
}

# paced NAME FAULTS: a run with the devices made as VERBS_FAULT says; its exit status in run.
paced() {
  run=0
  LD_PRELOAD=/lab/test/libibverbs-fault.so VERBS_FAULT=$2 \
    hostpingctl diagnose --software-rnics --format json >"$RESULTS/$1.json" 2>"$RESULTS/stderr" || run=$?
  cat "$RESULTS/stderr"
}

paced alike '*:bandwidth_gbps=0.1'
again alike "$run"
paced slow 'rxe1:bandwidth_gbps=0.03;*:bandwidth_gbps=0.1'
again slow "$run"

hostpingctl diagnose --software-rnics --format json >"$RESULTS/cut.json" &
pid=$!
probing() { rdma resource show qp | grep -v 'link rxe0' | grep -q 'type RC'; }
wait_until 30 probing || fail 'no second RNIC was probed'
kill -INT "$pid"
run=0
wait "$pid" || run=$?
again cut "$run"

code=0
hostpingctl compare "$RESULTS/alike.json" "$RESULTS/slow.json" >"$RESULTS/compared" || code=$?
cat "$RESULTS/compared"
expect 'exit status of the comparison' 1 "$code"
hostpingctl compare --format json "$RESULTS/alike.json" "$RESULTS/slow.json" >"$RESULTS/compared.json" || true
expect 'the slow link' worse "$(jq -r '.hops[] | select(.id == "rnic_pcie:rxe1") | .change' "$RESULTS/compared.json")"
hostpingctl compare "$RESULTS/slow.json" "$RESULTS/slow.json" >/dev/null || fail 'a report is worse than itself'
