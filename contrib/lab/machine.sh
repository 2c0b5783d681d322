#!/usr/bin/env bash
# The lab's machine, described once. From this description come QEMU's command line and machine.json, the facts that
# the guest's scenarios compare with what they find: nothing in that file is read from the guest.
# shellcheck disable=SC2034,SC2054  # results are read by the script that includes this file; commas are QEMU's

machine_cpus_per_socket=2
machine_memory_mib_per_node=768

# One PCIe tree a socket, in depth-first order: KIND NAME PARENT DETAIL.
#   host    a root complex of its own; DETAIL is NUMA node and first bus number. Socket N is NUMA node N.
#   port    a root port; DETAIL is its maximum speed in GT/s and width
#   up      the upstream port of a switch
#   down    a downstream port of a switch
#   nic     a virtio NIC that carries the soft-RoCE device rxe<DETAIL>
# rxe0 and rxe1 share a switch, rxe2 sits below two switches, rxe3 directly under a root port.
machine_tree='
host host0   -       0:32
port port0   host0   16:16
up   switch0 port0   -
down down00  switch0 -
nic  nic0    down00  0
down down01  switch0 -
nic  nic1    down01  1
host host1   -       1:64
port port1   host1   16:16
up   switch1 port1   -
down down10  switch1 -
up   switch2 down10  -
down down20  switch2 -
nic  nic2    down20  2
port port2   host1   8:8
nic  nic3    port2   3
'

# All NICs hang on one hub and in one subnet; the MAC's and the address's last part come from the device number.
machine_mac() { printf '52:54:00:00:00:%02x' $((16 + $1)); }
machine_address() { printf '10.77.0.%d' $((10 + $1)); }

# machine_describe FACTS_FILE: sets machine_arguments for QEMU and writes the facts.
machine_describe() {
  local facts=$1 kind name parent detail
  local -A child_bus=() next_slot=() node_of=() root_port_of=() switches_of=() links_of=() secondary=()
  local slot bus address chassis=0 last_bus=0 node first_bus speed width rnics='' nodes=''

  machine_arguments=(
    -machine q35 -accel tcg,thread=multi -cpu max
    -smp "$((2 * machine_cpus_per_socket)),sockets=2,cores=$machine_cpus_per_socket,threads=1"
    -m "$((2 * machine_memory_mib_per_node))"
  )
  for node in 0 1; do
    local first=$((node * machine_cpus_per_socket)) last=$(((node + 1) * machine_cpus_per_socket - 1))
    machine_arguments+=(
      -object "memory-backend-ram,id=ram$node,size=${machine_memory_mib_per_node}M"
      -numa "node,nodeid=$node,memdev=ram$node,cpus=$first-$last"
    )
    nodes+="${nodes:+,}{\"id\":$node,\"socket\":$node,\"first_cpu\":$first,\"last_cpu\":$last}"
  done

  # Firmware numbers buses depth first, from each root complex's own first number, so the description's order gives
  # every device's address.
  while read -r kind name parent detail; do
    [[ -n $kind ]] || continue
    if [[ $kind == host ]]; then
      node=${detail%:*} first_bus=${detail#*:}
      machine_arguments+=(-device "pxb-pcie,id=$name,bus=pcie.0,bus_nr=$first_bus,numa_node=$node")
      node_of[$name]=$node secondary[$name]=$first_bus next_slot[$name]=0 last_bus=$first_bus
      continue
    fi
    slot=${next_slot[$parent]}
    next_slot[$parent]=$((slot + 1))
    address=$(printf '0000:%02x:%02x.0' "${secondary[$parent]}" "$slot")
    node_of[$name]=${node_of[$parent]} root_port_of[$name]=${root_port_of[$parent]-} switches_of[$name]=${switches_of[$parent]-}
    if [[ $kind != nic ]]; then
      last_bus=$((last_bus + 1))
      secondary[$name]=$last_bus next_slot[$name]=0
    fi
    case $kind in
      port)
        chassis=$((chassis + 1)) speed=${detail%:*} width=${detail#*:}
        machine_arguments+=(-device "pcie-root-port,id=$name,bus=$parent,addr=$slot,chassis=$chassis,slot=$chassis,x-speed=$speed,x-width=$width")
        root_port_of[$name]=$address
        ;;
      up)
        machine_arguments+=(-device "x3130-upstream,id=$name,bus=$parent,addr=$slot")
        switches_of[$name]+="${switches_of[$name]:+,}\"$address\""
        ;;
      down)
        chassis=$((chassis + 1))
        machine_arguments+=(-device "xio3130-downstream,id=$name,bus=$parent,addr=$slot,chassis=$chassis,slot=$chassis")
        ;;
      nic)
        machine_arguments+=(
          -netdev "hubport,id=cable$detail,hubid=0"
          -device "virtio-net-pci,id=$name,bus=$parent,addr=$slot,netdev=cable$detail,mac=$(machine_mac "$detail"),romfile="
        )
        rnics+="${rnics:+,}$(printf '{"rnic":"rxe%d","netdev":"eth%d","mac":"%s","address":"%s","qemu_id":"%s","qemu_bus":"%s","cable":"cable%d","pci":"%s","numa_node":%d,"socket":%d,"root_port":"%s","switches":[%s]}' \
          "$detail" "$detail" "$(machine_mac "$detail")" "$(machine_address "$detail")" "$name" "$parent" "$detail" \
          "$address" "${node_of[$name]}" "${node_of[$name]}" "${root_port_of[$name]}" "${switches_of[$name]}")"
        ;;
    esac
  done <<<"$machine_tree"
  printf '{"memory_nodes":[%s],"rnics":[%s]}\n' "$nodes" "$rnics" >"$facts"
}
