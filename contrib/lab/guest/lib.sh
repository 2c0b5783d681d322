#!/bin/sh
# shellcheck shell=dash
# Words that scenarios use. Sourced by the guest's scripts; $RESULTS is the scenario's folder on the host.

machine=/lab/machine.json

# --- the machine -----------------------------------------------------------------------------------------------------

# fact FILTER [ARGUMENTS]: what QEMU was told, by a jq filter.
fact() { jq -r "$@" "$machine"; }

rnics() { fact '.rnics[].rnic'; }

# Devices as every scenario finds them: NICs named by MAC, addressed and up, one fresh soft-RoCE device on each.
restore_devices() {
  local device rnic netdev mac address now
  rm -rf /run/hostping
  if ip rule show | grep -q oif; then disconnect_devices; fi
  for device in /sys/class/infiniband/*; do
    [ -e "$device" ] && rdma link delete "${device##*/}"
  done
  # One by one and by MAC: the kernel's own numbering follows the order in which the drivers happened to finish.
  fact '.rnics[] | "\(.rnic) \(.netdev) \(.mac) \(.address)"' >/tmp/.devices
  while read -r rnic netdev mac address; do
    if [ -z "$(netdev_of_mac "$mac")" ]; then
      # QEMU lets go of the old NIC some time after the kernel has.
      wait_until 20 plug "$rnic"
      wait_until 20 netdev_of_mac "$mac" || { echo "lab: the NIC of $rnic ($mac) does not come back"; return 1; }
    fi
    now=$(netdev_of_mac "$mac")
    if [ "$now" != "$netdev" ]; then
      ip link set "$now" down
      if [ -e "/sys/class/net/$netdev" ]; then
        ip link set "$netdev" down
        ip link set "$netdev" name "aside-$netdev"
      fi
      ip link set "$now" name "$netdev"
    fi
    tc qdisc del dev "$netdev" root 2>/dev/null
    # So that the GID table is filled by the time the device appears: addresses first, no waiting for duplicates.
    echo 0 >"/proc/sys/net/ipv6/conf/$netdev/accept_dad"
    ip address flush dev "$netdev" scope global
    ip link set "$netdev" up
    [ "$(cat "/sys/class/net/$netdev/carrier")" = 1 ] || cable "$rnic" on
    ip address replace "$address/24" dev "$netdev"
    rdma link add "$rnic" type rxe netdev "$netdev" || return 1
  done </tmp/.devices
  rm -f /tmp/.devices
}

netdev_of_mac() {
  local path address
  for path in /sys/class/net/*; do
    read -r address <"$path/address" && [ "$address" = "$1" ] && echo "${path##*/}" && return
  done
  return 1
}

# connect_devices: by default the kernel answers for its own addresses, and two devices of one host cannot reach each
# other. Afterwards their traffic crosses the wire between the NICs, where `tc … netem` can delay or drop it; loopback on
# one device still works. restore_devices undoes it.
connect_devices() {
  local rnic netdev address number=0
  sysctl -q -w net.ipv4.conf.all.accept_local=1 net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.all.arp_ignore=1 \
    net.ipv4.conf.all.arp_announce=2
  fact '.rnics[] | "\(.rnic) \(.netdev) \(.address)"' >/tmp/.devices
  while read -r rnic netdev address; do
    number=$((number + 1))
    # What arrives is ours; what leaves for another address goes out by its NIC, even where that address is ours too.
    ip rule add pref "$((10 + number))" iif "$netdev" lookup local
    ip rule add pref "$((20 + number))" oif "$netdev" to "$address" lookup local
    ip rule add pref "$((30 + number))" oif "$netdev" lookup "$((100 + number))"
    ip route replace "${address%.*}.0/24" dev "$netdev" table "$((100 + number))"
  done </tmp/.devices
  ip rule add pref 40 lookup local
  ip rule delete pref 0
  rm -f /tmp/.devices
}

disconnect_devices() {
  ip rule flush
  ip rule add pref 0 lookup local
  ip rule add pref 32766 lookup main
  sysctl -q -w net.ipv4.conf.all.accept_local=0 net.ipv4.conf.all.arp_ignore=0 net.ipv4.conf.all.arp_announce=0
}

# --- QEMU, from inside -----------------------------------------------------------------------------------------------

# qmp_exchange: one QMP command on stdin, its answer on stdout; events in between are dropped. 1 on error or silence.
qmp_exchange() {
  local answer
  exec 3<>/dev/virtio-ports/lab.qmp
  cat >&3
  answer=$(timeout -s KILL 10 grep -m 1 -E '"(return|error)"' <&3) || answer='QMP: no answer within 10 s'
  exec 3>&-
  echo "$answer"
  case $answer in *'"return"'*) return 0 ;; *) return 1 ;; esac
}

# qmp COMMAND [ARGUMENTS_JSON]
qmp() { jq -cn --arg command "$1" --argjson arguments "${2:-{\}}" '{execute: $command, arguments: $arguments}' | qmp_exchange; }

qemu_id() { fact --arg rnic "$1" '.rnics[] | select(.rnic == $rnic) | .qemu_id'; }

# cable RNIC on|off: what pulling the cable does.
cable() {
  local up=true
  [ "$2" = on ] || up=false
  qmp set_link "{\"name\":\"$(qemu_id "$1")\",\"up\":$up}" >/dev/null
}

# unplug RNIC: the slot's button is pressed; the kernel removes the NIC after the 5 s in which one may change one's mind.
unplug() { qmp device_del "{\"id\":\"$(qemu_id "$1")\"}" >/dev/null; }

# plug RNIC: its NIC returns to the slot.
plug() {
  qmp device_add "$(fact -c --arg rnic "$1" '.rnics[] | select(.rnic == $rnic) |
    {driver: "virtio-net-pci", id: .qemu_id, bus: .qemu_bus, netdev: .cable, mac: .mac, romfile: ""}')"
}

# --- verdicts of a scenario ------------------------------------------------------------------------------------------

fail() {
  echo "FAILED: $*"
  exit 1
}

# expect WHAT WANT GOT
expect() { [ "$2" = "$3" ] || fail "$1: want '$2', got '$3'"; }

# expect_exit CODE COMMAND…: runs it with stdout and stderr in $RESULTS/stdout and $RESULTS/stderr.
expect_exit() {
  local want=$1 code=0
  shift
  "$@" >"$RESULTS/stdout" 2>"$RESULTS/stderr" || code=$?
  [ "$code" -eq "$want" ] && return
  head -n 20 "$RESULTS/stderr"
  fail "$* ended with $code, want $want"
}

# expect_valid SCHEMA FILE: a document of ours, against docs/SCHEMA.schema.json.
expect_valid() { validate "/lab/schemas/$1.schema.json" "$2" || fail "${2##*/} is not valid against docs/$1.schema.json"; }

# wait_until SECONDS COMMAND…: 0 as soon as the command succeeds, 1 when it has not within that time.
wait_until() {
  local tries=$(($1 * 10))
  shift
  while [ "$tries" -gt 0 ]; do
    "$@" >/dev/null 2>&1 && return 0
    tries=$((tries - 1))
    usleep 100000
  done
  return 1
}

# perftest PROGRAM SERVER CLIENT ARGUMENTS…: one of perftest's programs with its server on one RNIC and its client on
# another, or both on one. The client's output.
perftest() {
  local program=$1 server=$2 client=$3 server_pid
  shift 3
  # On soft-RoCE GID index 1 is the RoCE v2 one that maps the IPv4 address.
  "$program" -d "$server" -x 1 -F "$@" >"$RESULTS/perftest.server" 2>&1 &
  server_pid=$!
  wait_until 10 sh -c 'netstat -ltn | grep -q :18515' || fail "$program: the server does not listen"
  "$program" -d "$client" -x 1 -F "$@" 127.0.0.1 2>&1 || fail "$program on $server and $client: $(tail -n 1 "$RESULTS/perftest.server")"
  wait "$server_pid"
}

# median: of the numbers on stdin, one a line.
median() { sort -g | awk '{ v[NR] = $1 } END { if (NR == 0) exit 1; m = int((NR + 1) / 2); print (NR % 2 ? v[m] : (v[m] + v[m + 1]) / 2) }'; }
