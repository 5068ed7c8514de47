# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# The sanitizer kernel: linux-source-6.12 with everything that finds faults turned on, built once. The artefact
# is laid out like a tree (boot/vmlinux, usr/lib/modules/RELEASE/build), so that the VM and the module's
# build treat it as one more kernel. Compiled in the Debian 13 tree, whose compiler also builds the module:
# coverage data of another compiler's version could not be read.

SANITIZE_CONFIG=$VZE_TOP/scripts/lib/sanitize.config

sanitize_kernel_recipe() {
    printf '%s\n' "sanitize kernel" "$KERNEL_SOURCE_PACKAGE" "$(tree_recipe 6.12)" "$(cat "$SANITIZE_CONFIG")" \
        "$(declare -f make_sanitize_kernel sanitize_kconfig sanitize_pvh_entry sanitize_buddy in_work)"
}

sanitize_kernel_path() {
    artefact_path sanitize-kernel "$(sanitize_kernel_recipe)"
}

# The DRM helpers have no prompt of their own, so no configuration can ask for them: an option that selects
# what the module uses is added to the source's Kconfig.
sanitize_kconfig() {
    cat >>"$1/drivers/gpu/drm/Kconfig" <<'KCONFIG'

config DRM_VZE_DEPS
	tristate "Everything that the vze module uses"
	depends on DRM && MMU
	select DRM_GPUVM
	select DRM_EXEC
	select DRM_SCHED
	select DRM_BUDDY
	select DRM_GEM_SHMEM_HELPER
	select HMM_MIRROR
	select MMU_NOTIFIER
	select SYNC_FILE
	select WANT_DEV_COREDUMP
	select CRYPTO_LIB_UTILS
	select VMAP_PFN
	help
	  Builds the DRM helpers into a kernel that is only made for tests.
KCONFIG
}

# The entry that QEMU uses for an uncompressed kernel compares 12 bytes before KASAN's shadow memory is
# there. The source relies on the compiler doing that in place, but in code marked as cold it calls memcmp(), which
# is instrumented, and the kernel dies before its first message.
sanitize_pvh_entry() {
    local header=$1/arch/x86/include/asm/cpuid.h
    grep -q '!__builtin_memcmp(sig, signature, 12)' "$header" || die "$header does not look as expected"
    sed -i 's/!__builtin_memcmp(sig, signature, 12)/*(u64 *)sig == *(u64 *)signature \&\& *(u32 *)(sig + 8) == signature[2]/' \
        "$header"
}

# The DRM core's buddy allocator frees a block that is free already, when it finds no memory to split it, and
# walks into a broken tree later. Failure injection would end there and say nothing about the module, so this
# step of its undoing is left out: blocks that were split before stay split until they are freed.
sanitize_buddy() {
    local file=$1/drivers/gpu/buddy.c
    [ "$(grep -c '^[[:space:]]if (tmp != order)$' "$file")" = 1 ] || die "$file does not look as expected"
    sed -i '/^[[:space:]]if (tmp != order)$/,+1d' "$file"
}

# in_work DIR COMMAND...: runs in the Debian 13 tree with DIR, not the checkout, at /vze.
in_work() {
    local dir=$1
    shift
    in_tree_with "$dir" "$(tree_path 6.12)" "$@"
}

make_sanitize_kernel() {
    local dir=$1 work=$1.work log=$VZE_CACHE_DIR/log/sanitize-kernel.log source release total pid compiled
    rm -rf --one-file-system "$work"
    mkdir -p "$work"
    step "unpacking $KERNEL_SOURCE_PACKAGE"
    download_packages "$(suite_of_kernel 6.12)" "$work/deb" "$KERNEL_SOURCE_PACKAGE"
    dpkg-deb --fsys-tarfile "$work"/deb/*.deb | tar -x -C "$work/deb" --wildcards '*.tar.xz'
    mkdir "$work/linux"
    tar -x -C "$work/linux" --strip-components=1 -f "$work/deb/usr/src/$KERNEL_SOURCE_PACKAGE.tar.xz"
    rm -rf "$work/deb"
    source=$work/linux
    sanitize_kconfig "$source"
    sanitize_pvh_entry "$source"
    sanitize_buddy "$source"
    cp "$SANITIZE_CONFIG" "$source/vze.config"
    run_logged "$log" in_work "$source" sh -ec \
        'make tinyconfig && scripts/kconfig/merge_config.sh -m .config vze.config && make olddefconfig'
    sanitize_config_check "$source/.config"

    # make -n is too slow to count the files here; a kernel of this configuration compiles about as many.
    total=2200
    step "compiling the sanitizer kernel (once; 10 to 20 minutes with two processors)"
    in_work "$source" nice make -j"$(nproc)" vmlinux modules >"$log" 2>&1 </dev/null &
    pid=$!
    while kill -0 "$pid" 2>/dev/null; do
        sleep 10
        compiled=$(grep -cE '^ +(CC|AS|AR|LD)' "$log" || true)
        step "  $compiled of about $total files"
    done
    wait "$pid" || {
        tail -n 30 "$log" >&2
        die "the sanitizer kernel does not compile; the log is $log"
    }

    release=$(in_work "$source" make -s kernelrelease)
    mkdir -p "$dir/boot" "$dir/usr/lib/modules/$release/build"
    cp "$source/vmlinux" "$dir/boot/vmlinux"
    in_work "$source" strip --strip-debug -o vmlinux.stripped vmlinux
    mv "$source/vmlinux.stripped" "$dir/boot/vmlinux"
    cp "$source/.config" "$dir/boot/config-$release"
    cp "$source"/modules.builtin* "$dir/usr/lib/modules/$release/"
    : >"$dir/usr/lib/modules/$release/modules.order"
    # Not the host's, which need not have one.
    in_work "$dir" depmod -b /vze/usr "$release"
    run_logged "$log" in_work "$source" env srctree=. SRCARCH=x86 KCONFIG_CONFIG=.config CC=gcc HOSTCC=gcc MAKE=make \
        scripts/package/install-extmod-build extmod
    cp -a "$source/extmod/." "$dir/usr/lib/modules/$release/build/"
    rm -rf --one-file-system "$work"
}

# sanitize_config_check CONFIG: olddefconfig drops what it cannot satisfy without a word; a sanitizer that is
# silently missing would make every later run worthless.
sanitize_config_check() {
    local line missing=()
    while read -r line; do
        case $line in
        CONFIG_*=*) grep -qxF -- "$line" "$1" || missing+=("$line") ;;
        esac
    done <"$SANITIZE_CONFIG"
    [ ${#missing[@]} = 0 ] || die "the kernel's configuration did not accept: ${missing[*]}"
}
