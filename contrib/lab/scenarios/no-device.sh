#!/bin/sh
# goal: a host without anything to probe is an environment that does not allow a run: exit 3, one line, no report
# method: diagnose without --software-rnics, without /dev/infiniband, and with all devices deleted
# needs: hostpingctl
# shellcheck source=../guest/lib.sh
. /lab/lib.sh

# refused WHAT COMMAND…: exit 3, nothing on stdout, one line on stderr.
refused() {
  what=$1
  shift
  expect_exit 3 "$@"
  expect "stdout with $what" '' "$(cat "$RESULTS/stdout")"
  expect "lines on stderr with $what" 1 "$(wc -l <"$RESULTS/stderr")"
  echo "$what: $(cat "$RESULTS/stderr")"
}

refused 'software devices only' hostpingctl diagnose
# In a mount namespace of its own, so that nothing is left to restore.
refused 'no /dev/infiniband' unshare -m /bin/sh -c 'mount -t tmpfs none /dev/infiniband && exec hostpingctl diagnose --software-rnics'
for rnic in $(rnics); do rdma link delete "$rnic"; done
refused 'no device' hostpingctl diagnose --software-rnics
