// SPDX-License-Identifier: MIT
#pragma once

#include <iosfwd>

#include <level_zero/ze_api.h>

#include <gtest/gtest.h>

namespace vze::test {

/** Name of a result as the header spells it without the prefix, or the number. */
const char* resultName(ze_result_t result);

/** A result that GoogleTest prints by name. */
struct Result {
    ze_result_t value;
    bool operator==(const Result& other) const { return value == other.value; }
};

std::ostream& operator<<(std::ostream& out, const Result& result);

/** Text of the calling thread's last error, or an empty string. */
const char* lastError();

} // namespace vze::test

/* What a call returned, compared by exact code; the driver's own explanation comes with a failure.
 */
#define EXPECT_ZE(expected, call)                                                                  \
    EXPECT_EQ(::vze::test::Result{expected}, ::vze::test::Result{call})                            \
        << "driver says: " << ::vze::test::lastError()
#define ASSERT_ZE(expected, call)                                                                  \
    ASSERT_EQ(::vze::test::Result{expected}, ::vze::test::Result{call})                            \
        << "driver says: " << ::vze::test::lastError()
#define EXPECT_OK(call) EXPECT_ZE(ZE_RESULT_SUCCESS, call)
#define ASSERT_OK(call) ASSERT_ZE(ZE_RESULT_SUCCESS, call)
