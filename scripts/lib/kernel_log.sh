# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# What a kernel log may not hold after a run.

KERNEL_LOG_FAULTS='(^|[^[:alnum:]_])(WARNING: |BUG[: ]|Oops)|INFO: (task|rcu|possible)|possible (recursive|circular|irq)|inconsistent lock|lockdep|KASAN|UBSAN|KMSAN|KCSAN|kmemleak|refcount_t|general protection|Call Trace|memory leak|leaked|stack segment|double fault|unable to handle|scheduling while atomic|suspicious RCU|DMA-API:.*(error|warning)'

# What the checkers say of themselves at boot, and what programs of a test die of.
KERNEL_LOG_GREETINGS='RCU lockdep checking is enabled|kmemleak: (Automatic memory scanning thread|Kernel memory leak detector)|traps: '

# kernel_log_faults FILE: the first reports in the kernel log, each with the test that ran (the tests say "vze-test:
# NAME" in the log when they begin). A trace is told only where no line above it has told its report.
kernel_log_faults() {
    awk -v faults="$KERNEL_LOG_FAULTS" -v greetings="$KERNEL_LOG_GREETINGS" '
        $0 ~ greetings { next }
        match($0, /vze-test: .*/) { test = substr($0, RSTART + 10); next }
        /Call Trace/ && told && NR - told < 100 { next }
        $0 ~ faults { told = NR; print NR ": " $0 (test == "" ? "" : " (during " test ")"); if (++count == 10) exit }' "$1"
}

# kernel_log_selftest: does it see each kind of report, and nothing in a log without one?
kernel_log_selftest() {
    local log line missed=0
    log=$(mktemp)
    while read -r line; do
        printf '[    1.000000] vze-test: this one\n[    2.000000] %s\n' "$line" >"$log"
        if [ "$(kernel_log_faults "$log")" != "2: [    2.000000] $line (during this one)" ]; then
            echo "not seen: $line"
            missed=1
        fi
    done <<'EOF'
WARNING: CPU: 1 PID: 2 at kernel/x.c:3 f+0x1/0x2
BUG: KASAN: slab-use-after-free in f+0x1/0x2
BUG: sleeping function called from invalid context at x.c:1
BUG: Bad page state in process x
Oops: general protection fault: 0000 [#1] SMP
UBSAN: shift-out-of-bounds in x.c:1:2
WARNING: possible circular locking dependency detected
WARNING: suspicious RCU usage
INFO: task x:1 blocked for more than 120 seconds.
kmemleak: 3 new suspected memory leaks (see /sys/kernel/debug/kmemleak)
refcount_t: underflow; use-after-free.
Call Trace:
EOF
    printf '[    0.0] %s\n' 'rcu: RCU lockdep checking is enabled.' 'DMA-API: debugging enabled by kernel config' \
        'kmemleak: Automatic memory scanning thread started' 'traps: x[1] general protection fault ip:1 sp:2' >"$log"
    if [ -n "$(kernel_log_faults "$log")" ]; then
        echo "taken for a fault: $(kernel_log_faults "$log")"
        missed=1
    fi
    rm -f "$log"
    return $missed
}
