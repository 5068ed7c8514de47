// SPDX-License-Identifier: MIT
#pragma once

#include <cstdarg>

#include <level_zero/ze_api.h>

namespace vze {

/// How much VZE_LOG asks for: unset or 0 nothing, "error" or 1 the reason of every error, "info"
/// also what was found at start, "trace" or 2 also each call and its result.
enum class LogLevel { Off, Error, Info, Trace };

LogLevel logLevel() noexcept;

/// Writes one line to standard error when @p level is asked for.
[[gnu::format(printf, 2, 3)]] void log(LogLevel level, const char* format, ...) noexcept;

/// Names the API call that the thread is in. First line of each entry point:
/// `ApiCall call("zeMemFree");`. Nests; the outermost name is the one that is reported.
class ApiCall {
public:
    explicit ApiCall(const char* name) noexcept;
    ~ApiCall();
    ApiCall(const ApiCall&) = delete;
    ApiCall& operator=(const ApiCall&) = delete;

    /// Name of the outermost call of this thread, "vze" outside any.
    static const char* current() noexcept;

private:
    const char* m_previous;
};

/// Reports why a call fails and returns @p result: `return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
/// "ptr: 0x%zx is not the base of a live allocation", ...)`.
///
/// One line "zeCall: text (RESULT)" goes to the log, and the same text is what
/// zeDriverGetLastErrorDescription gives in this thread.
[[gnu::format(printf, 2, 3)]] ze_result_t fail(ze_result_t result, const char* format,
                                               ...) noexcept;

/// The text of the thread's last fail(), "" when there was none. Valid until the thread's next
/// fail().
const char* lastErrorText() noexcept;

/// Name of a result code, for messages.
const char* resultName(ze_result_t result) noexcept;

} // namespace vze
