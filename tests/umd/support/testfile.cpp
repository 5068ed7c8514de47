// SPDX-License-Identifier: MIT
#include "testfile.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "gpu.h"

namespace vze::test {

std::string folderOfThisProgram() {
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    std::string folder(path, length > 0 ? static_cast<size_t>(length) : 0);
    return folder.substr(0, folder.rfind('/'));
}

TestFile::TestFile(size_t size, uint32_t seed, const std::string& folder) {
    path_ = (folder.empty() ? folderOfThisProgram() : folder) + "/vze-test-XXXXXX";
    fd_ = mkostemp(path_.data(), O_CLOEXEC);
    if (fd_ < 0) {
        ADD_FAILURE() << path_ << ": " << std::strerror(errno);
        return;
    }
    std::vector<uint8_t> bytes(size);
    writePattern(bytes.data(), size, seed);
    if (pwrite(fd_, bytes.data(), size, 0) != static_cast<ssize_t>(size) || fsync(fd_))
        ADD_FAILURE() << path_ << ": " << std::strerror(errno);
}

TestFile::~TestFile() {
    if (fd_ >= 0) {
        close(fd_);
        unlink(path_.c_str());
    }
}

bool TestFile::inMemory() const {
    struct statfs info {};
    return fstatfs(fd_, &info) == 0 && (info.f_type == TMPFS_MAGIC || info.f_type == RAMFS_MAGIC ||
                                        info.f_type == OVERLAYFS_SUPER_MAGIC);
}

} // namespace vze::test
