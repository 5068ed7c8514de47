// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

namespace vze::test {

/** The folder of the running program. */
std::string folderOfThisProgram();

/** A file full of a pattern; removed with the object. */
class TestFile {
public:
    /**
     * In the given folder. The default is the folder of this program, which in the VM lies on a
     * file system with writeback; "/dev/shm" is a tmpfs.
     */
    TestFile(size_t size, uint32_t seed, const std::string& folder = {});
    ~TestFile();
    TestFile(const TestFile&) = delete;
    TestFile& operator=(const TestFile&) = delete;

    /** Open for reading and writing, or -1 when it could not be made (a test failure). */
    int fd() const { return fd_; }
    const std::string& path() const { return path_; }
    /** Is it on a tmpfs or ramfs? */
    bool inMemory() const;

private:
    std::string path_;
    int fd_ = -1;
};

} // namespace vze::test
