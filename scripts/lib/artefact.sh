# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# The cache of things that take minutes to make. An artefact is a folder NAME-KEY in the cache, KEY being
# the hash of its recipe. It is made under another name and renamed when whole: a folder with the
# final name is always complete, whatever was interrupted. One maker at a time, by a lock for each name.

# artefact_path NAME RECIPE: where the artefact is, or will be.
artefact_path() {
    printf '%s/%s-%s\n' "$VZE_CACHE_DIR" "$1" "$(printf '%s' "$2" | sha256sum | cut -c1-16)"
}

# artefact_make NAME RECIPE MEGABYTES MAKER: makes it unless it is there. MAKER gets the folder to fill.
artefact_make() {
    local name=$1 recipe=$2 megabytes=$3 maker=$4 path temp lock
    path=$(artefact_path "$name" "$recipe")
    if [ -d "$path" ]; then
        touch "$path.used"
        return 0
    fi
    need_root
    mkdir -p "$VZE_CACHE_DIR" || die "cannot make the cache folder $VZE_CACHE_DIR"
    exec {lock}>"$VZE_CACHE_DIR/$name.lock" || die "cannot write in the cache folder $VZE_CACHE_DIR"
    if ! flock -n "$lock"; then
        step "waiting for another run that makes $name"
        flock "$lock"
    fi
    if [ ! -d "$path" ]; then
        artefact_room "$megabytes"
        temp=$path.making
        rm -rf --one-file-system "$temp"*
        step "making $name (kept in $path)"
        (
            # What a failure leaves is of no use and may be what fills the disk.
            trap 'rm -rf --one-file-system "$temp"*' EXIT
            mkdir "$temp"
            "$maker" "$temp"
            mv "$temp" "$path"
        )
        step "$name is ready"
        artefact_prune "$name" "$path"
    fi
    touch "$path.used"
    exec {lock}>&-
}

# artefact_room MEGABYTES: refuses before the work rather than in the middle of it.
artefact_room() {
    local free
    free=$(df -Pm "$VZE_CACHE_DIR" | awk 'NR == 2 { print $4 }')
    [ "$free" -ge "$1" ] ||
        die "not enough room for the cache in $VZE_CACHE_DIR: $free MiB free, $1 MiB needed (VZE_CACHE=DIR moves it)"
}

# artefact_prune NAME KEEP: drops versions of NAME that nothing used for two weeks. Younger ones stay,
# for another checkout with another recipe may run on them right now.
artefact_prune() {
    local old
    for old in "$VZE_CACHE_DIR/$1"-????????????????; do
        [ -d "$old" ] && [ "$old" != "$2" ] || continue
        [ -z "$(find "$old.used" -mtime -14 2>/dev/null)" ] || continue
        rm -rf --one-file-system "$old" "$old.used"
    done
}
