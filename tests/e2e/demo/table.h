// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "gpu.h"

namespace vze::demo {

/** The figures of every station, printed at the end. */
class Table {
public:
    /** Adds a line with the figures of this moment. Seconds 0: no rate. */
    void add(const Gpu& gpu, const std::string& station, size_t bytes, double seconds);
    void print() const;

private:
    struct Row {
        std::string station;
        size_t bytes;
        double gigabytesPerSecond;
        size_t pagesPinned;
        vze_context_statistics_t statistics;
    };
    std::vector<Row> rows_;
};

} // namespace vze::demo
