#!/bin/sh
# goal: our figures beside those of ib_write_bw and of a bare post-and-poll loop, on the same device in the same boot
# method: interleaved repeats with their medians and spread; then our full mesh beside a perftest script over such cells.
#         Targets are printed as met or MISSED; only a figure that is wildly off fails, as emulated CPUs are noisy
# needs: hostpingctl loopback_once bare_loop
# deadline_s: 200
# shellcheck source=../guest/lib.sh
. /lab/lib.sh

rnic=rxe0
repeats=9

# diagnose ARGUMENTS…: a run whose verdict is of no interest here, its report in $RESULTS/report.json.
diagnose() {
  code=0
  hostpingctl diagnose --software-rnics --format json "$@" >"$RESULTS/report.json" 2>"$RESULTS/stderr" || code=$?
  case $code in 0 | 1 | 4) ;; *) fail "diagnose ended with $code: $(cat "$RESULTS/stderr")" ;; esac
}

# own_memory FILTER: of the measurement of the RNIC's own memory.
own_memory() { jq -r --arg rnic "$rnic" ".measurements[] | select(.rnic == \$rnic and .class == \"mem_local\") | $1" "$RESULTS/report.json"; }

# add NAME: figures on stdin, one a line, to a file of that name.
add() { cat >>"$RESULTS/$1"; }

# row FILE: median, least and greatest of a file of numbers.
row() { printf '  %-26s median %12s   from %12s to %12s\n' "$1" "$(median <"$RESULTS/$1")" "$(sort -g "$RESULTS/$1" | head -n 1)" "$(sort -g "$RESULTS/$1" | tail -n 1)"; }

# ratio OURS THEIRS: of the medians.
ratio() { awk -v a="$(median <"$RESULTS/$1")" -v b="$(median <"$RESULTS/$2")" 'BEGIN { printf "%.3f", a / b }'; }

# target WHAT VALUE OPERATOR LIMIT
target() { printf '  %-58s %8s   target %s %s: %s\n' "$1" "$2" "$3" "$4" "$(awk "BEGIN { print ($2 $3 $4) ? \"met\" : \"MISSED\" }")"; }

sane() { awk "BEGIN { exit !($2) }" || fail "$1: $2 does not hold"; }

# The data plane's own loops, in runs as long as those of the others; size, depth and queue pairs are the shipped probe's.
diagnose --rnic "$rnic"
bytes=$(own_memory .setup.message_bytes)
depth=$(own_memory .setup.depth)
connections=1
node=$(fact --arg rnic "$rnic" '.rnics[] | select(.rnic == $rnic) | .numa_node')
# The data plane measures from the RNIC's own node, so the others do as well.
taskset -c -p "$(fact --argjson node "$node" '.memory_nodes[] | select(.id == $node) | "\(.first_cpu)-\(.last_cpu)"')" $$ >/dev/null
echo "$rnic, own memory: $bytes bytes, depth $depth, $connections connection(s); $repeats interleaved repeats"

round=0
while [ "$round" -lt "$repeats" ]; do
  round=$((round + 1))
  loopback_once "$rnic" "$node" "$node" "$bytes" "$depth" "$connections" >"$RESULTS/once" || fail 'loopback_once'
  awk '/^bytes_per_second/ { print $2 * 8 / 1e9 }' "$RESULTS/once" | add bandwidth_gbps.ours
  awk '/^latency_ns_p50/ { print $2 }' "$RESULTS/once" | add latency_p50_ns.ours
  perftest ib_write_bw "$rnic" "$rnic" -s "$bytes" -t "$depth" -q "$connections" -n 150 |
    awk -v bytes="$bytes" '$1 == bytes { print $4 * 1048576 * 8 / 1e9 }' | add bandwidth_gbps.ib_write_bw
  bare_loop "$rnic" 1 1 5000 | awk '{ print $2 }' | add latency_p50_ns.bare_loop
  bare_loop "$rnic" 1 "$bytes" 150 "$depth" | awk '{ print $2 * 8 / 1e9 }' | add bandwidth_gbps.bare_loop
done

for file in bandwidth_gbps.ours bandwidth_gbps.ib_write_bw bandwidth_gbps.bare_loop latency_p50_ns.ours latency_p50_ns.bare_loop; do
  expect "figures in $file" "$repeats" "$(wc -l <"$RESULTS/$file")"
  row "$file"
done
bandwidth_ratio=$(ratio bandwidth_gbps.ours bandwidth_gbps.ib_write_bw)
latency_ratio=$(ratio latency_p50_ns.ours latency_p50_ns.bare_loop)
target 'sustained bandwidth, ours : ib_write_bw (2 % is equal)' "$bandwidth_ratio" '>=' 0.98
target 'latency p50, ours : bare loop' "$latency_ratio" '<=' 1.02

# The full mesh beside a script that calls perftest, with its own default counts, for the same cells. Its time is taken on
# one cell and multiplied: the others are alike, and all of them would take minutes.
diagnose
cells=$(jq '.measurements | length' "$RESULTS/report.json")
ours_s=$(jq '.run.duration_ms / 1000' "$RESULTS/report.json")
started=$(cut -d' ' -f1 /proc/uptime)
perftest ib_write_bw "$rnic" "$rnic" -s "$bytes" >"$RESULTS/mesh.ib_write_bw"
perftest ib_write_lat "$rnic" "$rnic" -s 2 >"$RESULTS/mesh.ib_write_lat"
cell_s=$(awk -v a="$started" -v b="$(cut -d' ' -f1 /proc/uptime)" 'BEGIN { print b - a }')
theirs_s=$(awk "BEGIN { print $cell_s * $cells }")
echo "  mesh of $cells cells: ours $ours_s s with all its checks; perftest $cell_s s a cell, so $theirs_s s"
mesh_ratio=$(awk "BEGIN { printf \"%.1f\", $theirs_s / $ours_s }")
target 'full mesh, times faster than a perftest script' "$mesh_ratio" '>=' 20

sane 'bandwidth beside ib_write_bw' "$bandwidth_ratio >= 0.5"
sane 'latency beside the bare loop' "$latency_ratio <= 2"
sane 'mesh beside perftest' "$mesh_ratio >= 2"
