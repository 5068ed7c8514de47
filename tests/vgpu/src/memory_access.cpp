// SPDX-License-Identifier: MIT
#include "memory_access.h"

#include <algorithm>
#include <cstring>

namespace vgpu {
namespace {

constexpr uint64_t kPage = VZE_HW_PAGE_SIZE;

/** Both memories are mapped page by page: the offset in a page is that of the host address. */
uint64_t offset_in_page(const std::byte* at) {
    return reinterpret_cast<uintptr_t>(at) & (kPage - 1);
}

uint64_t to_page_end(const std::byte* at) {
    return kPage - offset_in_page(at);
}

/** Bytes from @p at, at most @p size, that stand in plain pages. */
uint64_t plain_bytes(PageCompression& compression, const Run& run, const std::byte* at,
                     uint64_t size) {
    if (!run.vram())
        return size;
    uint64_t plain = 0;
    while (plain < size && compression.plain(at + plain))
        plain += to_page_end(at + plain);
    return std::min(plain, size);
}

/** The pattern of the page of @p at, of size 0 when the bytes are in memory. */
PagePattern pattern_at(Section& section, const Run& run, const std::byte* at) {
    return run.vram() ? section.compression().pattern(at) : PagePattern{};
}

/** Lets @p write write @p size bytes at @p dst: in plain pages, or within one page. */
template <typename Write>
void write_bytes(Section& section, const Run& to, std::byte* dst, uint64_t size, Write&& write) {
    PageCompression& compression = section.compression();

    if (!to.vram() || compression.plain(dst)) {
        write();
    } else if (size == kPage) {
        compression.overwrite(dst, write);
    } else {
        compression.resolve(dst, size, section.engine().counters);
        write();
    }
}

void count(Section& section, uint64_t read, uint64_t written) {
    section.engine().counters.add(VZE_HW_COUNTER_BYTES_READ, read);
    section.engine().counters.add(VZE_HW_COUNTER_BYTES_WRITTEN, written);
}

} // namespace

void copy_run(Section& section, const Run& to, const Run& from, Stores stores) {
    PageCompression& compression = section.compression();

    for (uint64_t done = 0; done < to.size;) {
        std::byte* const dst = to.host + done;
        const std::byte* const src = from.host + done;
        const uint64_t left = to.size - done;
        const uint64_t plain =
            plain_bytes(compression, to, dst, plain_bytes(compression, from, src, left));
        if (plain != 0) {
            move_bytes(dst, src, plain, stores);
            count(section, plain, plain);
            done += plain;
            continue;
        }
        const uint64_t piece = std::min({left, to_page_end(dst), to_page_end(src)});
        const PagePattern pattern = pattern_at(section, from, src);
        done += piece;
        if (pattern.size != 0 && to.compressible() && piece == kPage &&
            compression.store(dst, pattern, section.engine().counters)) {
            count(section, pattern.stored, 0);
            continue;
        }
        write_bytes(section, to, dst, piece, [&] {
            if (pattern.size != 0)
                pattern.expand(dst, offset_in_page(src), piece);
            else
                move_bytes(dst, src, piece, stores);
        });
        count(section, pattern.size != 0 ? pattern.stored : piece, piece);
    }
}

void fill_run(Section& section, const Run& to, const FillPattern& pattern, uint64_t phase,
              Stores stores) {
    PageCompression& compression = section.compression();

    for (uint64_t done = 0; done < to.size;) {
        std::byte* const dst = to.host + done;
        const uint64_t left = to.size - done;
        const uint64_t in_page = std::min(left, to_page_end(dst));
        const uint64_t at = (phase + done) % pattern.unit().size();
        uint64_t piece = in_page;
        if (!to.compressible()) {
            piece = std::max(piece, plain_bytes(compression, to, dst, left));
        } else if (in_page == kPage &&
                   compression.store(dst, PagePattern::rotated(pattern.unit(), at),
                                     section.engine().counters)) {
            done += kPage;
            continue;
        }
        write_bytes(section, to, dst, piece, [&] { pattern.write(dst, piece, at, stores); });
        count(section, 0, piece);
        done += piece;
    }
}

void read_run(Section& section, std::byte* to, const Run& from) {
    for (uint64_t done = 0; done < from.size;) {
        const std::byte* const src = from.host + done;
        const uint64_t piece = std::min(from.size - done, to_page_end(src));
        const PagePattern pattern = pattern_at(section, from, src);
        if (pattern.size != 0)
            pattern.expand(to + done, offset_in_page(src), piece);
        else
            std::memcpy(to + done, src, piece);
        done += piece;
    }
}

void make_plain(Section& section, const Run& run) {
    if (run.vram())
        section.compression().resolve(run.host, run.size, section.engine().counters);
}

} // namespace vgpu
