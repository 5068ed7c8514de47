// SPDX-License-Identifier: MIT
#include "table.h"

#include <cinttypes>
#include <cstdio>

#include "memory.h"

namespace vze::demo {

void Table::add(const Gpu& gpu, const std::string& station, size_t bytes, double seconds) {
    const double rate = seconds > 0 ? static_cast<double>(bytes) / seconds / 1e9 : 0;
    rows_.push_back({station, bytes, rate, pinnedBytes() / 4096, gpu.statistics()});
}

void Table::print() const {
    std::printf("\n%-34s %12s %7s %8s %7s %6s %6s %10s %6s\n", "station", "bytes", "GB/s", "pages",
                "PTEs", "PTEs", "PTEs", "TLB inval-", "stale");
    std::printf("%-34s %12s %7s %8s %7s %6s %6s %10s %6s\n", "", "", "", "pinned", "4K", "2M", "1G",
                "idations", "uses");
    for (const Row& row : rows_) {
        char rate[32] = "-";
        if (row.gigabytesPerSecond > 0)
            std::snprintf(rate, sizeof rate, "%.2f", row.gigabytesPerSecond);
        const auto& s = row.statistics;
        std::printf("%-34s %12zu %7s %8zu %7" PRIu64 " %6" PRIu64 " %6" PRIu64 " %10" PRIu64
                    " %6" PRIu64 "\n",
                    row.station.c_str(), row.bytes, rate, row.pagesPinned, s.pte_4k, s.pte_2m,
                    s.pte_1g, s.tlb_invalidations, s.stale_uses);
    }
    std::printf("\n");
}

} // namespace vze::demo
