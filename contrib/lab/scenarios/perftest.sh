#!/bin/sh
# goal: the reference tools work on every device, and between devices once these are connected
# method: ib_write_bw with few iterations on each device, and from each to the next; a figure must come out. Between
#         devices netem must slow it down, which shows that the traffic crosses the wire
# shellcheck source=../guest/lib.sh
. /lab/lib.sh

# mbps SERVER CLIENT
mbps() { perftest ib_write_bw "$1" "$2" -s 65536 -n 50 | awk '$1 == 65536 { print $4 }'; }

for rnic in $(rnics); do
  figure=$(mbps "$rnic" "$rnic")
  [ -n "$figure" ] || fail "$rnic: no figure"
  echo "$rnic: $figure MB/s at 64 KiB"
done

connect_devices
figure=$(mbps rxe0 rxe3)
[ -n "$figure" ] || fail 'rxe0 to rxe3: no figure'
tc qdisc add dev eth3 root netem delay 30ms
delayed=$(mbps rxe0 rxe3)
echo "rxe3 to rxe0: $figure MB/s, with a delay of 30 ms $delayed MB/s"
awk -v a="$figure" -v b="$delayed" 'BEGIN { exit !(b < a) }' || fail 'the delay has no effect: the traffic does not cross the wire'
expect 'loopback on connected devices' 1 "$(mbps rxe1 rxe1 | wc -l)"
