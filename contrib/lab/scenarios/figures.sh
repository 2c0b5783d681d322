#!/bin/sh
# goal: our figures beside those of ib_write_bw and of a bare post-and-poll loop, on the same device in the same boot
# method: interleaved repeats, medians and spread; then a full mesh beside a perftest script over the same cells.
#         Targets are printed as met or MISSED; only a figure that is wildly off fails, as the machine is noisy
# needs: hostpingctl bare_loop
# deadline_s: 200
# shellcheck source=../guest/lib.sh
. /lab/lib.sh

rnic=rxe0
repeats=9
gid=1 # the IPv4-mapped RoCE v2 one on soft-RoCE
figures=$RESULTS/figures
mkdir -p "$figures"

ours() { hostpingctl diagnose --software-rnics --rnic "$rnic" --format json >"$RESULTS/report.json" 2>"$RESULTS/stderr" || [ $? -ne 3 ]; }

# local_path FILTER: of our measurement of the RNIC's own memory.
local_path() { jq -r ".measurements[] | select(.class == \"mem_local\") | $1" "$RESULTS/report.json"; }

# perftest PROGRAM ARGUMENTS…: server and client on one device; the client's table on stdout.
perftest() {
  program=$1
  shift
  "$program" -d "$rnic" -x "$gid" -F "$@" >/dev/null 2>&1 &
  server=$!
  wait_until 10 sh -c 'netstat -ltn | grep -q :18515' || fail "$program: the server does not listen"
  "$program" -d "$rnic" -x "$gid" -F "$@" 127.0.0.1 2>&1 || fail "$program $*"
  wait "$server"
}

# On soft-RoCE our own probe says which size, depth and queue pairs it used; the others get the same.
ours || fail "diagnose: $(cat "$RESULTS/stderr")"
bytes=$(local_path .setup.message_bytes)
depth=$(local_path .setup.depth)
queue_pairs=$(local_path .setup.queue_pairs)
echo "$rnic, local memory, $bytes bytes, depth $depth, $queue_pairs queue pair(s), $repeats interleaved repeats"

round=0
while [ "$round" -lt "$repeats" ]; do
  round=$((round + 1))
  ours
  local_path '.reads[0].bandwidth_gbps' >>"$figures/bandwidth.ours"
  local_path '.reads[0].latency_us.p50 * 1000' >>"$figures/latency.ours"
  perftest ib_write_bw -s "$bytes" -t "$depth" -q "$queue_pairs" -n 200 --report_gbits |
    awk -v bytes="$bytes" '$1 == bytes { print $4 }' >>"$figures/bandwidth.ib_write_bw"
  bare_loop "$rnic" "$gid" "$bytes" 200 "$depth" | awk '/Gb/ { print $NF }' >>"$figures/bandwidth.bare_loop"
  bare_loop "$rnic" "$gid" 1 2000 >>"$figures/bare_loop.log"
done
