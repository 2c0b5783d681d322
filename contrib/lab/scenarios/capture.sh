#!/bin/sh
# goal: a captured host is discovered as the host itself, holds nothing that identifies it, and is the same each time
# method: capture the guest twice, as root and as a plain user; compare topologies; look for the guest's own addresses
# needs: hostpingctl
# deadline_s: 120
# shellcheck source=../guest/lib.sh
. /lab/lib.sh

capture=$RESULTS/host.capture
expect_exit 0 hostpingctl topology --software-rnics --format json --capture "$capture"
cp "$RESULTS/stdout" "$RESULTS/live.json"
expect 'lines on stderr' 1 "$(wc -l <"$RESULTS/stderr")"
expect_exit 0 hostpingctl topology --software-rnics --format json --sysfs "$capture"
diff -u "$RESULTS/live.json" "$RESULTS/stdout" || fail 'the captured host differs: - is the host, + its capture'
expect_exit 0 hostpingctl topology --sysfs "$capture" --format svg
expect_exit 1 hostpingctl diagnose --sim --sysfs "$capture" --software-rnics --fault rnic_pcie:rxe2=0.6

expect_exit 0 hostpingctl topology --capture "$RESULTS/again.capture"
# Blocks are set in: the only one that changes is how much memory is free.
for name in host again; do grep -v '^  ' "$RESULTS/$name.capture" >"$RESULTS/$name.lines"; done
diff -u "$RESULTS/host.lines" "$RESULTS/again.lines" || fail 'a second capture of the same host differs'

chmod 0777 "$RESULTS"
expect_exit 0 su operator -c "hostpingctl topology --software-rnics --format json --capture $RESULTS/plain.capture"
expect_exit 0 hostpingctl topology --software-rnics --format json --sysfs "$RESULTS/plain.capture"

# Every MAC address, GUID and IPv4 address of the guest, as text and as bare digits.
cat /sys/class/net/eth*/address /sys/class/infiniband/*/node_guid /sys/class/infiniband/*/sys_image_guid >"$RESULTS/identities"
ip -4 -o addr show | awk '$2 != "lo" { sub(/\/.*/, "", $4); print $4 }' >>"$RESULTS/identities"
tr -d ' :-' <"$capture" >"$RESULTS/digits"
while read -r identity; do
  case $identity in 0000:0000:0000:0000 | 00:00:00:00:00:00) continue ;; esac
  ! grep -q -i -F "$identity" "$capture" || fail "the capture holds $identity"
  case $identity in *:*) ;; *) continue ;; esac
  ! grep -q -i -F "$(echo "$identity" | tr -d ':')" "$RESULTS/digits" || fail "the capture holds the digits of $identity"
done <"$RESULTS/identities"
expect 'files of the capture that name the host' '' "$(grep -i -w -F "$(hostname)" "$capture" || true)"
echo "$(grep -c '^/' "$capture") files and links, $(wc -c <"$capture") bytes; none of $(wc -l <"$RESULTS/identities") addresses in it"
