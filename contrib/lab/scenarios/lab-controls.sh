#!/bin/sh
# goal: a scenario can pull a cable and remove a NIC, and the lab restores both
# method: set_link and device_del through QEMU's monitor; the guest's kernel must see each, and its undoing
# shellcheck source=../guest/lib.sh
. /lab/lib.sh

carrier_is() { [ "$(cat "/sys/class/net/$1/carrier")" = "$2" ]; }

cable rxe3 off
wait_until 5 carrier_is eth3 0 || fail 'eth3 still has a carrier with its cable pulled'
cable rxe3 on
wait_until 5 carrier_is eth3 1 || fail 'eth3 has no carrier with its cable back'

unplug rxe0
wait_until 15 test ! -e /sys/class/net/eth0 || fail 'eth0 is still there after the removal of its NIC'
wait_until 5 test ! -e /sys/class/infiniband/rxe0 || fail 'rxe0 outlived its NIC'
restore_devices || fail 'the devices do not come back'
expect 'PCI function of eth0' "$(fact '.rnics[0].pci')" "$(basename "$(readlink -f /sys/class/net/eth0/device/..)")"
