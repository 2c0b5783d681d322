#!/bin/sh
# goal: every device answers the reference tools, so that later figures have something to be compared with
# method: ib_write_lat and ib_write_bw with server and client on the same device, few iterations; a figure must come out
# shellcheck source=../guest/lib.sh
. /lab/lib.sh

for rnic in $(rnics); do
  ib_write_bw -d "$rnic" -x 1 -s 65536 -n 50 -F >"$RESULTS/$rnic.server" 2>&1 &
  server=$!
  wait_until 10 sh -c 'netstat -ltn | grep -q :18515' || fail "$rnic: the server did not listen"
  ib_write_bw -d "$rnic" -x 1 -s 65536 -n 50 -F 127.0.0.1 >"$RESULTS/$rnic.client" 2>&1 || fail "$rnic: $(tail -n 1 "$RESULTS/$rnic.client")"
  wait "$server"
  mbps=$(awk '$1 == 65536 { print $4 }' "$RESULTS/$rnic.client")
  [ -n "$mbps" ] || fail "$rnic: no figure in $RESULTS/$rnic.client"
  echo "$rnic: $mbps MB/s at 64 KiB"
done
