# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Recipes of the two root file systems and of the files taken out of the kernel's source package.
# Changing a recipe here changes its key, and with it the folder in the cache.

# Where packages come from is the machine's own apt configuration, never a name written here.
debian_site() {
    local site
    site=$(apt-get indextargets --format '$(ORIGIN)|$(LABEL)|$(SITE)' 'Created-By: Packages' 2>/dev/null |
        awk -F'|' '$1 == "Debian" && $2 == "Debian" { print $3; exit }')
    [ -n "$site" ] ||
        die "apt's configuration names no Debian archive (apt-get indextargets shows none; run apt-get update)"
    printf '%s\n' "$site"
}

debian_source_line() {
    printf 'deb [check-valid-until=no] %s %s main\n' "$(debian_site)" "$1"
}

suite_of_kernel() {
    case $1 in
    6.12) echo trixie ;;
    7.2) echo sid ;;
    esac
}

# The tree of 6.12 is also the VM's root file system and the place where everything is compiled; of
# the tree of 7.2 only the kernel, its modules and the compiler that fits its headers are used.
packages_of_kernel() {
    case $1 in
    6.12)
        echo linux-image-amd64 linux-headers-amd64 build-essential libc6-dev-i386 cmake ninja-build \
            pkgconf libdrm-dev libgtest-dev libgmock-dev libbenchmark-dev libcli11-dev kmod dkms udev \
            sparse dwarves rsync python3 strace iproute2 util-linux procps file xz-utils zstd \
            flex bison bc libelf-dev libssl-dev \
            busybox-static
        ;;
    7.2) echo linux-image-amd64 linux-headers-amd64 gcc make kmod dkms sparse dwarves ;;
    esac
}

LEVEL_ZERO_SUITE=sid
LEVEL_ZERO_PACKAGES='libze1 libze-dev'
LEVEL_ZERO_VERSION=1.32
KERNEL_SOURCE_PACKAGE=linux-source-6.12
KERNEL_TOOL_PATHS='scripts/checkpatch.pl scripts/spelling.txt scripts/const_structs.checkpatch
    scripts/subarch.include scripts/Makefile.compiler scripts/Makefile.arch scripts/get_maintainer.pl
    tools/testing/selftests/lib.mk tools/testing/selftests/Makefile
    tools/testing/selftests/kselftest.h tools/testing/selftests/kselftest_harness.h
    tools/testing/selftests/run_kselftest.sh tools/testing/selftests/kselftest_install.sh
    tools/testing/selftests/kselftest tools/scripts tools/include/linux/compiler.h'

tree_recipe() {
    # The functions' own text is part of the recipe: a changed step is a changed tree.
    printf '%s\n' "tree $1" "$(suite_of_kernel "$1")" "$(packages_of_kernel "$1")" \
        "$LEVEL_ZERO_SUITE $LEVEL_ZERO_PACKAGES $LEVEL_ZERO_VERSION" \
        "$(declare -f make_tree bootstrap_tree add_level_zero extract_vmlinux)"
}

tree_path() {
    if [ "$1" = sanitize ]; then
        sanitize_kernel_path
    else
        artefact_path "tree-$1" "$(tree_recipe "$1")"
    fi
}

kernel_tools_recipe() {
    printf '%s\n' "$KERNEL_SOURCE_PACKAGE" "$KERNEL_TOOL_PATHS" "$(declare -f make_kernel_tools)"
}

kernel_tools_path() {
    artefact_path kernel-tools "$(kernel_tools_recipe)"
}

# kernel_release TREE: the one kernel installed in it, as uname -r says.
kernel_release() {
    local modules
    modules=("$1"/usr/lib/modules/*)
    [ ${#modules[@]} = 1 ] && [ -d "${modules[0]}" ] || die "not exactly one kernel in $1/usr/lib/modules"
    printf '%s\n' "${modules[0]##*/}"
}

tree_612_maker() { make_tree 6.12 "$1"; }
tree_72_maker() { make_tree 7.2 "$1"; }

make_tree() {
    local kernel=$1 dir=$2
    bootstrap_tree "$kernel" "$dir"
    if [ "$kernel" = 6.12 ]; then
        add_level_zero "$dir"
    fi
    extract_vmlinux "$dir"
    # Mount points of the VM and of the builds; the tree itself is read-only to both.
    mkdir -p "$dir/vze" "$dir/mnt/share" "$dir/mnt/rootfs" "$dir/mnt/overlay" "$dir/mnt/files" \
        "$dir/mnt/headers" "$dir/mnt/kernel-tools"
}

bootstrap_tree() {
    local kernel=$1 dir=$2 suite packages
    suite=$(suite_of_kernel "$kernel")
    packages=$(packages_of_kernel "$kernel")
    # INITRD=No: the VM needs no initramfs of the distribution, and making one takes 20 s.
    run_logged "$VZE_CACHE_DIR/log/tree-$kernel.log" \
        env INITRD=No nice mmdebstrap --mode=root --variant=minbase --skip=check/empty \
        --include="${packages// /,}" \
        --aptopt='Acquire::Check-Valid-Until "false"' --aptopt='Acquire::Retries "3"' \
        --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
        --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
        "$suite" "$dir" "$(debian_source_line "$suite")"
    case $(kernel_release "$dir") in
    "$kernel".*) ;;
    *) die "suite $suite has kernel $(kernel_release "$dir"), not $kernel" ;;
    esac
}

# The loader's newest release is only in the newest suite; it needs no more than Debian 13's C library.
add_level_zero() {
    local dir=$1 work=$1.level-zero
    download_packages "$LEVEL_ZERO_SUITE" "$work" "$LEVEL_ZERO_PACKAGES"
    local deb
    for deb in "$work"/*.deb; do
        [ "$(dpkg-deb -f "$deb" Version | cut -d. -f1-2)" = "$LEVEL_ZERO_VERSION" ] ||
            warn "$(basename "$deb") is not version $LEVEL_ZERO_VERSION, which the driver is tested with"
        dpkg -x "$deb" "$dir"
    done
    ldconfig -r "$dir"
    rm -rf "$work"
}

# download_packages SUITE DIR PACKAGES: binary packages of a suite that the machine itself need not
# have configured, through an apt root of its own.
download_packages() {
    local suite=$1 dir=$2 packages=$3 apt=$2/apt option
    rm -rf "$dir"
    mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/etc/preferences.d" "$apt/etc/sources.list.d"
    debian_source_line "$suite" >"$apt/etc/sources.list"
    : >"$apt/status"
    local options=()
    for option in "Dir::Etc=$apt/etc" "Dir::State=$apt" "Dir::State::lists=$apt/lists" \
        "Dir::State::status=$apt/status" "Dir::Cache=$apt/cache" "Acquire::Check-Valid-Until=false" \
        "Acquire::Languages=none" "Acquire::Retries=3" "APT::Architecture=amd64" "APT::Sandbox::User=root" \
        "Dir::Etc::trusted=/etc/apt/trusted.gpg" "Dir::Etc::trustedparts=/etc/apt/trusted.gpg.d"; do
        options+=(-o "$option")
    done
    run_logged "$VZE_CACHE_DIR/log/apt-$suite.log" apt-get "${options[@]}" update
    # shellcheck disable=SC2086 # a list of names
    (cd "$dir" && run_logged "$VZE_CACHE_DIR/log/download-$suite.log" \
        nice apt-get "${options[@]}" download $packages)
    rm -rf "$apt"
}

# A PVH boot of the uncompressed kernel is 1-4 s faster than the bzImage, which has the payload's place in its header.
extract_vmlinux() {
    local dir=$1
    python3 - "$dir/boot/vmlinuz-$(kernel_release "$dir")" "$dir/boot/vmlinux" <<'PYTHON'
import struct
import subprocess
import sys

image = open(sys.argv[1], "rb").read()
if image[0x202:0x206] != b"HdrS":
    sys.exit("%s is no bzImage" % sys.argv[1])
start = (image[0x1F1] + 1) * 512 + struct.unpack_from("<I", image, 0x248)[0]
payload = image[start:start + struct.unpack_from("<I", image, 0x24C)[0] - 4]
for magic, command in ((b"\x28\xb5\x2f\xfd", ["zstd", "-dc"]), (b"\xfd7zXZ\0", ["xz", "-dc"]),
                       (b"\x1f\x8b", ["gzip", "-dc"])):
    if payload.startswith(magic):
        break
else:
    sys.exit("%s: unknown compression %s" % (sys.argv[1], payload[:4].hex()))
with open(sys.argv[2], "wb") as out:
    subprocess.run(command, input=payload, stdout=out, check=True)
with open(sys.argv[2], "rb") as made:
    if made.read(4) != b"\x7fELF":
        sys.exit("%s: the payload is no ELF file" % sys.argv[1])
PYTHON
}

# The headers packages have neither the selftest harness nor checkpatch; the source package has both.
make_kernel_tools() {
    local dir=$1 work=$1.source pattern patterns=()
    download_packages "$(suite_of_kernel 6.12)" "$work" "$KERNEL_SOURCE_PACKAGE"
    for pattern in $KERNEL_TOOL_PATHS; do
        patterns+=("*/$pattern")
    done
    dpkg-deb --fsys-tarfile "$work"/*.deb | tar -x -C "$work" --wildcards '*.tar.xz'
    run_logged "$VZE_CACHE_DIR/log/kernel-tools.log" \
        tar -x -C "$dir" --strip-components=1 --wildcards -f "$work/usr/src/$KERNEL_SOURCE_PACKAGE.tar.xz" \
        "${patterns[@]}"
    rm -rf "$work"
    [ -x "$dir/scripts/checkpatch.pl" ] || die "$KERNEL_SOURCE_PACKAGE has no scripts/checkpatch.pl"
}

# shellcheck source=scripts/lib/sanitize_kernel.sh
. "$VZE_TOP/scripts/lib/sanitize_kernel.sh"
