# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# What a kernel log may not hold after a run.

KERNEL_LOG_FAULTS='\bWARNING: |\bBUG[: ]|\bOops|INFO: (task|rcu|possible)|possible (recursive|circular|irq)|inconsistent lock|lockdep|KASAN|UBSAN|KMSAN|KCSAN|kmemleak|refcount_t|general protection|Call Trace|memory leak|leaked|stack segment|double fault|unable to handle|scheduling while atomic|suspicious RCU|DMA-API:.*(error|warning)'

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
