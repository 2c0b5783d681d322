#!/bin/sh
# goal: 200 probes in one process leave no verbs object and no open file behind, on a real device
# method: the data plane's own test of that, with the counting provider preloaded; and while the process lives the
#         kernel's list of verbs objects must show none that is more than two rounds old
# needs: native.test libibverbs-fault.so
# deadline_s: 120
# shellcheck source=../guest/lib.sh
. /lab/lib.sh

HOSTPING_TEST_DEVICES=rxe0 VERBS_FAULT_CENSUS=/tmp/census LD_PRELOAD=/lab/test/libibverbs-fault.so \
  native.test -test.v -test.run TestRoundsOnRealDevicesLeaveNothing >"$RESULTS/test" 2>&1 &
test=$!
most=0
while kill -0 "$test" 2>/dev/null; do
  # The kernel keeps one queue pair of its own on each device; a probe has two, and they may overlap with the next one's.
  here=$(rdma resource show qp link rxe0 | grep -c 'type RC' || true)
  [ "$here" -le "$most" ] || most=$here
  usleep 500000
done
wait "$test" || fail "$(tail -n 20 "$RESULTS/test")"
grep -q '^    --- PASS' "$RESULTS/test" || fail "the test did not run on rxe0: $(tail -n 5 "$RESULTS/test")"
sed -n 's/.*census: /census: /p' "$RESULTS/test"
echo "at most $most queue pairs of the process seen at once"
[ "$most" -gt 0 ] || fail 'the kernel never showed a queue pair: nothing was looked at'
[ "$most" -le 4 ] || fail "queue pairs pile up: $most at once"
