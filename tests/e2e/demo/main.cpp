// SPDX-License-Identifier: MIT
//
// vze-demo FILE: takes a real file through the whole stack by way of the Level Zero loader, and
// proves by checksum that each station has its bytes. The last line is "demo: ok", or the exit
// status is not 0.
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "failure.h"
#include "share.h"
#include "stations.h"

namespace vze::demo {

void progress(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    std::vprintf(format, arguments);
    va_end(arguments);
    std::putchar('\n');
    std::fflush(stdout);
}

std::string textOf(const char* format, ...) {
    char text[2048];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return text;
}

} // namespace vze::demo

int main(int argc, char** argv) {
    using namespace vze::demo;
    if (argc != 2) {
        std::fprintf(stderr, "usage: vze-demo FILE (a file of some tens of MiB)\n");
        return 2;
    }
    try {
        const size_t optionLength = sizeof kSecondProcessOption - 1;
        if (std::strncmp(argv[1], kSecondProcessOption, optionLength) == 0)
            return secondProcess(std::atoi(argv[1] + optionLength));
        runStations(argv[1]);
        std::printf("demo: ok\n");
        return 0;
    } catch (const std::exception& e) {
        std::fflush(stdout);
        std::fprintf(stderr, "demo: FAILED: %s\n", e.what());
        return 1;
    }
}
