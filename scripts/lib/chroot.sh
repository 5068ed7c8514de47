# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Runs a program inside a tree, with this checkout at /vze. The mounts live in a mount namespace of
# their own, which ends with the program: nothing is left on the host, however it ends. The tree is
# read-only in there, so that no build can change what the next one starts from.

# in_tree TREE COMMAND...: as root inside TREE, with /vze as working directory.
in_tree() {
    in_tree_with "$VZE_TOP" "$@"
}

# With IN_TREE_HEADERS=DIR, DIR is at /mnt/headers: what modules of a kernel without a tree are built against.
# in_tree_with DIR TREE COMMAND...: the same with DIR, instead of this checkout, at /vze.
in_tree_with() {
    local top=$1 tree=$2
    shift 2
    need_root
    # shellcheck disable=SC2016 # the inner shell expands these
    unshare --mount --propagation private bash -euc '
        tree=$1 top=$2 headers=$3
        shift 3
        mount --bind "$tree" "$tree"
        mount -o remount,bind,ro "$tree"
        mount --bind "$top" "$tree/vze"
        [ -z "$headers" ] || mount --bind "$headers" "$tree/mnt/headers"
        mount -t tmpfs -o mode=1777 tmp "$tree/tmp"
        mount -t tmpfs -o mode=0700 root "$tree/root"
        mount -t proc proc "$tree/proc"
        mount --rbind /sys "$tree/sys"
        mount --rbind /dev "$tree/dev"
        exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
            HOME=/root LANG=C.UTF-8 TERM="${TERM:-dumb}" \
            chroot "$tree" sh -c "cd /vze && exec \"\$@\"" sh "$@"
    ' in_tree "$tree" "$top" "${IN_TREE_HEADERS:-}" "$@"
}
