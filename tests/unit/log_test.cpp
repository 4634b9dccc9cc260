// SPDX-License-Identifier: Apache-2.0
#include "subject.h"
#include "util/late_log.h"
#include "util/log.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "config_support.h"

using namespace mdist;

namespace {

struct Recorder {
    std::string lines;
    int calls = 0;
    int freed = 0;
    int overlapping = 0;
    bool running = false;
    bool is_terminated = true;
    Outcome replaced_inside;
};

void record(mdist_log_level_t level, const char *text, size_t length, void *user_data) {
    auto *recorder = static_cast<Recorder *>(user_data);
    if (recorder->running) ++recorder->overlapping;
    recorder->running = true;
    ++recorder->calls;
    if (text[length] != '\0') recorder->is_terminated = false;
    if (recorder->lines.size() < 10000) recorder->lines += std::to_string(level) + std::string(text, length) + ";";
    recorder->running = false;
}

void count_free(void *user_data) {
    ++static_cast<Recorder *>(user_data)->freed;
}

/// What goes to stderr while `function` runs.
template <typename Function>
std::string stderr_of(Function function) {
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    int kept = dup(STDERR_FILENO);
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
    function();
    dup2(kept, STDERR_FILENO);
    close(kept);
    char buffer[4096];
    ssize_t length = read(ends[0], buffer, sizeof buffer);
    close(ends[0]);
    return {buffer, static_cast<size_t>(length < 0 ? 0 : length)};
}

/// First of the group: nothing has asked for the level yet.
void the_environment_says_the_level_once_at_first_use(void **) {
    assert_int_equal(log::current_level.load(), log::kLevelUnknown);
    setenv("MDIST_LOG", "loud", 1);
    std::string warning = stderr_of([] { log_info("nothing"); });
    assert_text(warning, "mdist: warn: MDIST_LOG is \"loud\"; use off, error, warn, info or debug\n");
    assert_false(log::enabled(MDIST_LOG_INFO));
    setenv("MDIST_LOG", "debug", 1);
    assert_false(log::enabled(MDIST_LOG_INFO));
    log::current_level = log::kLevelUnknown;
    setenv("MDIST_LOG", "Info", 1);
    assert_true(log::enabled(MDIST_LOG_INFO));
    assert_false(log::enabled(MDIST_LOG_DEBUG));
    unsetenv("MDIST_LOG");
}

void messages_above_the_level_are_dropped(void **) {
    Recorder recorder;
    log::set_sink(record, &recorder, nullptr);
    log::set_level(MDIST_LOG_WARN);
    log_error("a", 1);
    log_warn("b");
    log_info("c");
    log::write(MDIST_LOG_DEBUG, "d");
    log::set_level(MDIST_LOG_OFF);
    log_error("e");
    log::write(MDIST_LOG_OFF, "f");
    log::set_level(MDIST_LOG_DEBUG);
    log_debug("g");
    log::write(MDIST_LOG_OFF, "h");
    log::set_sink(nullptr, nullptr, nullptr);
    assert_text(recorder.lines, "1a1;2b;4g;");
}

void levels_outside_the_list_are_refused(void **) {
    for (int level : {-1, 5, 1000})
        assert_int_equal(outcome_of([&] { log::set_level(static_cast<mdist_log_level_t>(level)); }).status,
                         MDIST_ERR_INVALID_ARGUMENT);
    assert_true(log::enabled(MDIST_LOG_DEBUG));
}

void the_default_sink_writes_one_line_to_stderr(void **) {
    assert_text(stderr_of([] { log_warn("of ", 3, " workers\nnone"); }), "mdist: warn: of 3 workers none\n");
    assert_text(stderr_of([] { log_error(""); }), "mdist: error: \n");
}

void a_message_leaves_errno_alone(void **) {
    stderr_of([] {
        errno = ENOTTY;
        log_warn("x");
        errno = errno == ENOTTY ? 0 : 1;
    });
    int kept = dup(STDERR_FILENO);
    close(STDERR_FILENO);
    errno = ENOTTY;
    log_warn("to nowhere");
    int after = errno;
    dup2(kept, STDERR_FILENO);
    close(kept);
    assert_int_equal(after, ENOTTY);
}

void sinks_get_finished_lines(void **) {
    Recorder recorder;
    log::set_sink(record, &recorder, nullptr);
    log_warn("a\nb\tc\x7f");
    log_warn(std::string(3000, 'x'));
    log::set_sink(nullptr, nullptr, nullptr);
    assert_text(recorder.lines, "2a b c ;2" + std::string(3000, 'x') + ";");
    assert_true(recorder.is_terminated);
}

void user_data_is_freed_once_when_its_sink_goes(void **) {
    Recorder first, second, third;
    log::set_sink(record, &first, count_free);
    log_warn("x");
    assert_int_equal(first.freed, 0);
    log::set_sink(record, &second, count_free);
    assert_int_equal(first.freed, 1);
    log::set_sink(nullptr, &third, count_free);
    assert_int_equal(second.freed, 1);
    assert_int_equal(third.freed, 0);
    log::set_sink(nullptr, nullptr, nullptr);
    assert_int_equal(first.freed + second.freed + third.freed, 3);
}

void log_from_within(mdist_log_level_t, const char *, size_t, void *user_data) {
    auto *recorder = static_cast<Recorder *>(user_data);
    ++recorder->calls;
    log_warn("inside");
    recorder->replaced_inside = outcome_of([&] { log::set_sink(nullptr, user_data, count_free); });
}

void a_sink_that_calls_back_neither_hangs_nor_recurses(void **) {
    Recorder recorder;
    log::set_sink(log_from_within, &recorder, nullptr);
    log_warn("x");
    log::set_sink(nullptr, nullptr, nullptr);
    assert_int_equal(recorder.calls, 1);
    assert_int_equal(recorder.replaced_inside.status, MDIST_ERR_WRONG_CONTEXT);
    assert_int_equal(recorder.freed, 1);
}

void throw_from_within(mdist_log_level_t, const char *, size_t, void *) {
    throw std::runtime_error("sink");
}

void exceptions_of_a_sink_end_there(void **) {
    log::set_sink(throw_from_within, nullptr, nullptr);
    log_warn("x");
    log_warn("y");
    Recorder recorder;
    log::set_sink(record, &recorder, nullptr);
    log_warn("z");
    log::set_sink(nullptr, nullptr, nullptr);
    assert_text(recorder.lines, "2z;");
}

void exit_thread(mdist_log_level_t, const char *, size_t, void *) {
    pthread_exit(nullptr);
}

void *log_once(void *) {
    log_warn("x");
    return nullptr;
}

void a_sink_that_ends_its_thread_blocks_nobody(void **) {
    log::set_sink(exit_thread, nullptr, nullptr);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, nullptr, log_once, nullptr), 0);
    pthread_join(thread, nullptr);
    Recorder recorder;
    log::set_sink(record, &recorder, nullptr);
    log_warn("z");
    log::set_sink(nullptr, nullptr, nullptr);
    assert_text(recorder.lines, "2z;");
}

void calls_to_the_sink_come_one_at_a_time(void **) {
    constexpr int kThreads = 4, kMessages = 500;
    Recorder a, b;
    log::set_sink(record, &a, count_free);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t)
        threads.emplace_back([] {
            for (int i = 0; i < kMessages; ++i) log_warn("message ", i);
        });
    log::set_sink(record, &b, count_free);
    for (auto &thread : threads) thread.join();
    log::set_sink(nullptr, nullptr, nullptr);
    assert_int_equal(a.calls + b.calls, kThreads * kMessages);
    assert_int_equal(a.overlapping + b.overlapping, 0);
    assert_int_equal(a.freed + b.freed, 2);
}

/// A sink that takes nothing until it may, as a stopped terminal does.
struct Stopped {
    Recorder recorder;
    std::mutex may_go_on;
};

void record_when_it_may(mdist_log_level_t level, const char *text, size_t length, void *user_data) {
    auto *stopped = static_cast<Stopped *>(user_data);
    const std::lock_guard<std::mutex> hold(stopped->may_go_on);
    record(level, text, length, &stopped->recorder);
}

/// What the sink has got of `count` lines that a thread wrote which may not wait.
std::string written_later(std::size_t count) {
    Stopped stopped;
    log::set_sink(record_when_it_may, &stopped, nullptr);
    {
        LateLog late;
        stopped.may_go_on.lock();
        std::thread([&] {
            log::write_to(&late);
            for (std::size_t i = 0; i < count; ++i) log_warn(i);
        }).join(); // it does not wait for the sink
        stopped.may_go_on.unlock();
    }
    log::set_sink(nullptr, nullptr, nullptr);
    assert_int_equal(stopped.recorder.overlapping, 0);
    return stopped.recorder.lines;
}

void a_thread_that_may_not_wait_has_its_lines_written_by_another(void **) {
    assert_text(written_later(0), "");
    assert_text(written_later(3), "20;21;22;");
}

/// The lines are told as lost in one line or in two: when the other thread begins to write, some may be lost already.
void lines_that_a_stopped_sink_leaves_no_room_for_are_counted(void **) {
    const std::size_t count = 3 * LateLog::kMostLines;
    std::istringstream lines(written_later(count));
    std::size_t written = 0, lost = 0;
    for (std::string line; std::getline(lines, line, ';');) {
        if (line.find(" more lines were lost") == std::string::npos)
            ++written;
        else
            lost += std::stoul(line.substr(1)); // behind the level
    }
    assert_in_range(written, LateLog::kMostLines, count - 1);
    assert_int_equal(written + lost, count);
}

} // namespace

SUBJECT(log) {
    const CMUnitTest tests[] = {
        cmocka_unit_test(the_environment_says_the_level_once_at_first_use),
        cmocka_unit_test(messages_above_the_level_are_dropped),
        cmocka_unit_test(levels_outside_the_list_are_refused),
        cmocka_unit_test(the_default_sink_writes_one_line_to_stderr),
        cmocka_unit_test(a_message_leaves_errno_alone),
        cmocka_unit_test(sinks_get_finished_lines),
        cmocka_unit_test(user_data_is_freed_once_when_its_sink_goes),
        cmocka_unit_test(a_sink_that_calls_back_neither_hangs_nor_recurses),
        cmocka_unit_test(exceptions_of_a_sink_end_there),
        cmocka_unit_test(a_sink_that_ends_its_thread_blocks_nobody),
        cmocka_unit_test(calls_to_the_sink_come_one_at_a_time),
        cmocka_unit_test(a_thread_that_may_not_wait_has_its_lines_written_by_another),
        cmocka_unit_test(lines_that_a_stopped_sink_leaves_no_room_for_are_counted),
    };
    return cmocka_run_group_tests_name("log", tests, nullptr, nullptr);
}
