# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Shared by every script here: where things are, how progress and failure are told.
# Source it first; it turns on "errexit", so that no step fails unseen.

set -euo pipefail

VZE_TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
VZE_BUILD=$VZE_TOP/build
VZE_CACHE_DIR=${VZE_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/vze}
VZE_START=${VZE_START:-$(date +%s)}
export VZE_START
readonly VZE_TOP VZE_BUILD VZE_CACHE_DIR

# Every line of progress goes to stderr with the seconds since the first script of the chain began,
# so that stdout belongs to the program that a script runs.
step() {
    printf '[%4ds] %s\n' "$(($(date +%s) - VZE_START))" "$*" >&2
}

warn() {
    printf '%s: warning: %s\n' "${0##*/}" "$*" >&2
}

die() {
    printf '%s: error: %s\n' "${0##*/}" "$*" >&2
    exit "${DIE_STATUS:-1}"
}

need_root() {
    [ "$(id -u)" = 0 ] || die "must run as root (it makes mount namespaces and installs packages)"
}

# usage_from FILE: prints the comment block under the SPDX line, which is each script's help.
usage_from() {
    awk 'NR > 2 && /^#/ { sub(/^# ?/, ""); print; next } NR > 2 { exit }' "$1"
}

# run_logged LOG COMMAND...: runs a noisy command with its output in LOG; on failure shows the end of
# it and the usual reason. A heartbeat each 20 s tells that it is alive.
run_logged() {
    local log=$1 pid status=0 waited=0
    shift
    mkdir -p "$(dirname "$log")"
    "$@" >"$log" 2>&1 </dev/null &
    pid=$!
    while kill -0 "$pid" 2>/dev/null; do
        sleep 1
        waited=$((waited + 1))
        [ $((waited % 20)) != 0 ] || step "  ... $(tail -n 1 "$log" 2>/dev/null | cut -c1-90)"
    done
    wait "$pid" || status=$?
    if [ "$status" != 0 ]; then
        tail -n 25 "$log" >&2
        if grep -qiE 'no space left on device|enough free space' "$log"; then
            die "the disk is full (step: $(basename "$log" .log)); the log is $log"
        fi
        die "step $(basename "$log" .log) failed with status $status; the log is $log"
    fi
}

# The kernels that the project is tested on, oldest first. The name is the version's first two numbers.
# Beside them there is "sanitize", the kernel of scripts/lib/sanitize_kernel.sh.
VZE_KERNELS=(6.12 7.2)

check_kernel_name() {
    local k
    for k in "${VZE_KERNELS[@]}" sanitize; do
        [ "$k" != "$1" ] || return 0
    done
    die "unknown kernel '$1' (known: ${VZE_KERNELS[*]} sanitize)"
}
