#!/bin/sh
# goal: the discovered topology is the one that QEMU was told to build
# method: compare hostpingctl's RNICs, memory nodes and paths with those computed from the machine's description
# needs: hostpingctl validate
# shellcheck source=../guest/lib.sh
. /lab/lib.sh

expect_exit 0 hostpingctl topology --software-rnics --format json
cp "$RESULTS/stdout" "$RESULTS/topology.json"
expect_valid topology "$RESULTS/topology.json"

# same WHAT WANTED_FILTER FOUND_FILTER: of the machine's facts, of the topology.
same() {
  fact -S "$2" >"$RESULTS/want"
  jq -rS "$3" "$RESULTS/topology.json" >"$RESULTS/got"
  diff -u "$RESULTS/want" "$RESULTS/got" || fail "$1 differ: - is what QEMU was told, + what was discovered"
  echo "$1: as QEMU was told"
}

same 'RNICs' \
  '.rnics[] | [.rnic, .pci, "node \(.numa_node)", "socket \(.socket)", .netdev, "software", "ACTIVE"] | join(" ")' \
  '.rnics[] | [.id, .pci, "node \(.numa_node)", "socket \(.socket)", .netdevs[], .role, .state] | join(" ")'
same 'memory nodes' \
  '.memory_nodes[] | "mem\(.id) node \(.id) socket \(.socket)"' \
  '.memory_nodes[] | "\(.id) node \(.numa_node) socket \(.socket)"'
# A switch directly under a root port lends its link to the root port; below it, each further switch has its own.
# Outwards from the RNIC the switch farthest from the root port comes first.
same 'paths' \
  '.memory_nodes as $nodes | .rnics[] | . as $r | $nodes[] | [
     $r.rnic, "mem\(.id)", (if .id == $r.numa_node then "mem_local" else "mem_remote" end),
     "rnic_pcie:\($r.rnic)",
     ($r.switches[1:] | reverse | map("switch:\(.)"))[],
     (if $r.switches == [] then empty else "root_port:\($r.root_port)" end),
     (if .socket == $r.socket then empty else "inter_socket:0-1" end),
     "memory:mem\(.id)"
   ] | join(" ")' \
  '.paths[] | [.rnic, .endpoint, .class, .hops[]] | join(" ")'
# QEMU's root ports and switches have no link behind them, so what they say of speed and width is worth nothing.
same 'trust in emulated ports' \
  '[.rnics[] | select(.switches != []) | "root_port:\(.root_port)"] | unique[] + " nonsense"' \
  '[.hops[] | select(.kind == "root_port") | "\(.id) \(.trust)"] | unique[]'
