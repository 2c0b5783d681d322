#!/bin/sh
# goal: what a plain user gets: without permission exit 3 and one line; with device access but 64 KiB of lockable memory
#       every path unmeasured by the reason memlock_limit; with both a run
# method: the same command as an ordinary user, under different device modes and limits. Root would ignore the limit
# needs: hostpingctl
# deadline_s: 90
# shellcheck source=../guest/lib.sh
. /lab/lib.sh

as_operator() { su operator -c "$1"; }

chmod 0600 /dev/infiniband/uverbs*
expect_exit 3 as_operator 'hostpingctl diagnose --software-rnics --format json'
expect 'stdout without permission' '' "$(cat "$RESULTS/stdout")"
expect 'lines on stderr without permission' 1 "$(wc -l <"$RESULTS/stderr")"
echo "no permission: $(cat "$RESULTS/stderr")"

chmod 0666 /dev/infiniband/uverbs*
expect_exit 4 as_operator 'ulimit -l 64; hostpingctl diagnose --software-rnics --format json'
expect 'reasons with 64 KiB of lockable memory' '8 memlock_limit' \
  "$(jq -r '.unmeasured[] | select(.planned) | .reason' "$RESULTS/stdout" | sort | uniq -c | sed 's/^ *//')"
echo "memlock: $(jq -r '.unmeasured[0].detail' "$RESULTS/stdout")"

# shellcheck disable=SC3045  # dash has it
ulimit -l unlimited
code=0
as_operator 'hostpingctl diagnose --software-rnics --format json' >"$RESULTS/report.json" 2>"$RESULTS/stderr" || code=$?
case $code in 0 | 1 | 4) ;; *) fail "with access and memory diagnose ended with $code: $(cat "$RESULTS/stderr")" ;; esac
expect 'paths measured with access and memory' 8 "$(jq '.measurements | length' "$RESULTS/report.json")"
echo 'with access and memory: all paths measured'
