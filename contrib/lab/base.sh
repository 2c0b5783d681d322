#!/usr/bin/env bash
# The base of the lab: a kernel and an initramfs made of Debian packages, built once and kept in the user's cache.
#
# The recipe is this file. Its checksum is part of the cache's folder name, so a change here builds a new base.
# Guest packages are unpacked, never installed: the host gets QEMU and nothing else.
# shellcheck disable=SC2034,SC2154  # cache is set by, base_* are read by, the script that includes this file

kernel_metapackage=linux-image-amd64

guest_packages=(
  busybox-static dash coreutils jq libjq1 libonig5
  perftest ibverbs-providers libibverbs1 librdmacm1 libibumad3 libpci3 libnl-3-200 libnl-route-3-200 libudev1
  iproute2 libbpf1 libbsd0 libmd0 libcap2 libelf1 libmnl0 libxtables12
  libc6 libgcc-s1 zlib1g
)

# Shared objects that these name are copied with them.
guest_programs=(
  bin/busybox bin/dash bin/ip sbin/tc usr/bin/rdma usr/bin/jq
  usr/bin/timeout
  usr/bin/ib_write_bw usr/bin/ib_write_lat usr/bin/ib_read_bw usr/bin/ib_read_lat usr/bin/ib_send_bw usr/bin/ib_send_lat
)

# Found at run time by name, so nothing in the programs names them.
guest_plugins=(
  usr/lib/x86_64-linux-gnu/libibverbs/librxe-rdmav34.so
  lib/x86_64-linux-gnu/libpthread.so.0 lib/x86_64-linux-gnu/libdl.so.2 lib/x86_64-linux-gnu/librt.so.1
  lib/x86_64-linux-gnu/libresolv.so.2 lib/x86_64-linux-gnu/libgcc_s.so.1
)

# crc32_generic is what rdma_rxe asks the crypto layer for by name; without it `rdma link add` says "failed to add".
guest_modules=(
  virtio_pci virtio_net virtio_console virtio_rng 9pnet_virtio 9p
  crc32_generic ib_uverbs rdma_rxe sch_netem
)

# base_prepare sets base_kernel and base_initramfs; it returns 1, with base_error set, when they cannot be had.
base_prepare() {
  local key folder lock
  key=$(sha256sum "${BASH_SOURCE[0]}" | cut -c1-16)
  folder=$cache/base-$key
  base_kernel=$folder/vmlinuz
  base_initramfs=$folder/initramfs.cpio
  base_busybox=$folder/busybox
  base_error=''
  mkdir -p "$cache"
  # Two labs started at once must not build the same folder; the second one finds it ready.
  exec {lock}>"$cache/lock"
  if ! flock --wait 600 "$lock"; then
    base_error="another lab has held $cache/lock for 10 minutes"
    return 1
  fi
  if [[ ! -e $folder ]]; then
    find "$cache" -maxdepth 1 -name 'base-*' -mtime +30 -exec rm -rf {} +
    say "building the guest's base in $folder (once for this recipe)"
    base_build "$folder" || return 1
  fi
  touch "$folder" # still in use, see above
  exec {lock}>&-
}

# The folder appears under its final name only when it is complete.
base_build() {
  local folder=$1 build=$cache/build release packages root
  packages=$build/packages
  root=$build/root
  rm -rf "$build"
  mkdir -p "$build"/{debs,base} "$packages" "$root"

  base_download "$build/debs" || return 1
  base_merged_usr "$packages"
  base_unpack "$build/debs" "$packages"
  release=$(basename "$packages"/lib/modules/*)
  "$packages/bin/busybox" depmod -b "$packages" "$release"

  base_merged_usr "$root"
  base_populate "$packages" "$root" || return 1
  base_modules "$packages/lib/modules/$release" "$root/lib/modules/$release" || return 1
  base_archive "$packages/bin/busybox" "$root" "$build/base/initramfs.cpio" || return 1
  cp "$packages/boot/vmlinuz-$release" "$build/base/vmlinuz"
  cp "$packages/bin/busybox" "$build/base/busybox"
  (cd "$build/debs" && printf '%s\n' *.deb) >"$build/base/packages"
  mv "$build/base" "$folder"
  rm -rf "$build"
}

base_download() {
  local debs=$1 log=$cache/apt.log kernel attempt
  if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
    base_error="no apt-get and dpkg-deb here: the guest is made of Debian packages"
    return 1
  fi
  : >"$log"
  for attempt in lists_as_they_are lists_updated; do
    if [[ $attempt == lists_updated ]]; then
      ((EUID == 0)) || break
      apt-get update >>"$log" 2>&1 || true
    fi
    kernel=$(apt-cache depends "$kernel_metapackage" 2>/dev/null | sed -n 's/.*Depends: \(linux-image-.*\)/\1/p' | head -n 1)
    [[ -n $kernel ]] || continue
    if (cd "$debs" && apt-get download "$kernel" "${guest_packages[@]}" >>"$log" 2>&1); then
      return 0
    fi
  done
  base_error="apt-get cannot download the guest's packages; see $log"
  return 1
}

base_unpack() {
  local debs=$1 packages=$2 deb
  for deb in "$debs"/*.deb; do
    dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$packages" --keep-directory-symlink --no-same-owner
  done
}

# Packages of Debian 12 still carry files in /bin and /lib, so the links come first.
base_merged_usr() {
  local folder
  for folder in bin sbin lib lib64; do
    mkdir -p "$1/usr/$folder"
    ln -s "usr/$folder" "$1/$folder"
  done
}

base_populate() {
  local packages=$1 root=$2 applet file
  mkdir -p "$root"/{dev,etc/libibverbs.d,lab,proc,results,root,run,sys,var/run}
  mkdir -m 1777 "$root/tmp"
  for file in "${guest_programs[@]}" "${guest_plugins[@]}"; do
    base_copy "$packages" "$root" "$file" || return 1
  done
  # A shell that takes programs from the path: busybox's prefers its own versions of all of them, and its `ip` and `tc` know
  # nothing of policy rules and netem. Its `timeout` leaves a process behind that keeps files open.
  ln -s dash "$root/bin/sh"
  for applet in $("$packages/bin/busybox" --list); do
    [[ -e $root/bin/$applet || -e $root/sbin/$applet ]] || ln -s busybox "$root/bin/$applet"
  done
  echo 'driver rxe' >"$root/etc/libibverbs.d/rxe.driver"
  printf '%s\n' root:x:0:0:root:/root:/bin/sh operator:x:1000:1000:operator:/tmp:/bin/sh >"$root/etc/passwd"
  printf '%s\n' root:x:0: operator:x:1000: >"$root/etc/group"
  echo '127.0.0.1 localhost' >"$root/etc/hosts"
}

# base_copy PACKAGES ROOT FILE: the file and every shared object that the loader of the packages finds for it.
base_copy() {
  local packages=$1 root=$2 file=$3 listing library
  install -D -m 0755 "$packages/$file" "$root/$file" || return 1
  if listing=$("$packages/lib64/ld-linux-x86-64.so.2" --library-path "$packages/lib/x86_64-linux-gnu" --list "$packages/$file" 2>&1); then
    if [[ $listing == *'not found'* ]]; then
      base_error="$file needs a library that guest_packages lacks: $(grep 'not found' <<<"$listing" | head -n 1)"
      return 1
    fi
    while read -r library; do
      [[ -e $root/${library#"$packages/"} ]] || install -D -m 0755 "$library" "$root/${library#"$packages/"}" || return 1
    done < <(sed -n "s|.*=> \($packages/[^ ]*\) .*|\1|p" <<<"$listing")
  elif [[ -n $listing ]]; then # it says nothing of a statically linked program
    base_error="cannot list the libraries of $file: $listing"
    return 1
  fi
  install -D -m 0755 "$packages/lib64/ld-linux-x86-64.so.2" "$root/lib64/ld-linux-x86-64.so.2"
}

# base_modules FROM TO: the wanted modules, what they depend on, and the index for modprobe.
base_modules() {
  local from=$1 to=$2 module line path
  mkdir -p "$to"
  for module in "${guest_modules[@]}"; do
    line=$(grep -E "/${module//_/[-_]}\.ko:" "$from/modules.dep" || true)
    if [[ -z $line ]]; then
      grep -qE "/${module//_/[-_]}\.ko\$" "$from/modules.builtin" && continue
      base_error="the kernel has no module $module"
      return 1
    fi
    # busybox's depmod lists all dependencies of a module, not only the direct ones.
    for path in ${line/:/}; do
      [[ -e $to/$path ]] || install -D -m 0644 "$from/$path" "$to/$path"
    done
  done
  cp "$from"/modules.{order,builtin,builtin.modinfo} "$to"
  "${from%/lib/modules/*}/bin/busybox" depmod -b "${to%/lib/modules/*}" "$(basename "$to")"
}

# base_archive BUSYBOX ROOT FILE: a cpio that the kernel unpacks. Not compressed: emulated CPUs inflate slowly.
base_archive() {
  local busybox=$1 root=$2 archive=$3
  (cd "$root" && find . -mindepth 1 | LC_ALL=C sort | "$busybox" cpio -o -H newc -R 0:0) >"$archive" 2>/dev/null
}
