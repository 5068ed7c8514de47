# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# What the host itself must have: each program by the package that brings it.

HOST_PROGRAMS='qemu-system-x86_64:qemu-system-x86 /usr/lib/qemu/virtiofsd:qemu-system-common
    mmdebstrap:mmdebstrap python3:python3 zstd:zstd xz:xz-utils busybox:busybox-static
    unshare:util-linux mount:mount flock:util-linux dpkg-deb:dpkg
    /usr/share/keyrings/debian-archive-keyring.gpg:debian-archive-keyring'

missing_host_packages() {
    local entry
    for entry in $HOST_PROGRAMS; do
        case $entry in
        /*) [ -e "${entry%%:*}" ] || echo "${entry##*:}" ;;
        *) command -v "${entry%%:*}" >/dev/null || echo "${entry##*:}" ;;
        esac
    done | sort -u
}

install_host_packages() {
    local packages lock
    mapfile -t packages < <(missing_host_packages)
    [ ${#packages[@]} != 0 ] || return 0
    need_root
    command -v apt-get >/dev/null ||
        die "this host has no apt-get; install by other means: ${packages[*]}"
    mkdir -p "$VZE_CACHE_DIR" || die "cannot make the cache folder $VZE_CACHE_DIR"
    exec {lock}>"$VZE_CACHE_DIR/host.lock"
    flock "$lock"
    step "installing on the host: ${packages[*]}"
    run_logged "$VZE_CACHE_DIR/log/host-update.log" apt-get update
    run_logged "$VZE_CACHE_DIR/log/host-install.log" env DEBIAN_FRONTEND=noninteractive nice \
        apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=300 "${packages[@]}"
    mapfile -t packages < <(missing_host_packages)
    [ ${#packages[@]} = 0 ] || die "still missing after the installation: ${packages[*]}"
    exec {lock}>&-
}
