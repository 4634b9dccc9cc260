// SPDX-License-Identifier: Apache-2.0
// PMI over a socket pair, with a process manager made by hand at the other end.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <thread>

#include "cluster/pmi_client.h"
#include "cluster/settle_store.h"
#include "cluster_support.h"
#include "subject.h"
#include "util/text.h"

using namespace mdist;

namespace {

constexpr std::uint64_t kLong = 60'000'000'000;
constexpr std::uint64_t kShort = 20'000'000;

struct Pair {
    Pair() { ok = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0; }
    ~Pair() {
        for (int end : ends) close(end);
    }
    bool ok;
    int ends[2];
};

/// Answers each request by its line of `answers`, in pieces of `piece` bytes, and keeps what was asked.
class FakeManager {
  public:
    FakeManager(int fd, std::vector<std::string> answers, std::size_t piece = 1000)
        : thread_([this, fd, piece, lines = std::move(answers)] {
              for (const std::string &line : lines) {
                  requests.push_back(read_line(fd));
                  for (std::size_t at = 0; at < line.size(); at += piece)
                      if (write(fd, line.data() + at, std::min(piece, line.size() - at)) < 0) return;
              }
          }) {}
    ~FakeManager() { end(); }
    void end() {
        if (thread_.joinable()) thread_.join();
    }

    std::vector<std::string> requests; // after end()

  private:
    static std::string read_line(int fd) {
        std::string line;
        for (char c = 0; c != '\n' && read(fd, &c, 1) == 1;) line += c;
        return line;
    }

    std::thread thread_;
};

void worker_0_puts_and_all_get(void **) {
    Pair pair;
    assert_true(pair.ok);
    FakeManager manager(pair.ends[1],
                        {"cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n", "cmd=my_kvsname kvsname=kvs_7\n",
                         "cmd=put_result rc=0 msg=success\n", "cmd=barrier_out\n",
                         "cmd=get_result rc=0 msg=success value=10.0.0.1:4400\n", "cmd=finalize_ack\n"},
                        3);
    PmiClient client(pair.ends[0], kLong);
    client.init();
    assert_text(client.share(0, "mdist-store", "10.0.0.1:4400"), "10.0.0.1:4400");
    client.finalize();
    manager.end();
    assert_text(manager.requests[2], "cmd=put kvsname=kvs_7 key=mdist-store value=10.0.0.1:4400\n");
    assert_text(manager.requests[3], "cmd=barrier_in\n");
    assert_text(manager.requests[4], "cmd=get kvsname=kvs_7 key=mdist-store\n");
    assert_int_equal(manager.requests.size(), 6);
}

void other_workers_do_not_put(void **) {
    Pair pair;
    FakeManager manager(pair.ends[1], {"cmd=my_kvsname kvsname=k\n", "cmd=barrier_out\n",
                                       "cmd=get_result rc=0 msg=success value=x:1\n"});
    assert_text(PmiClient(pair.ends[0], kLong).share(1, "mdist-store", ""), "x:1");
}

void strange_answers_are_refused(void **) {
    const std::string long_line(5000, 'x');
    for (const std::string &answer : {std::string("cmd=other\n"), std::string("\n"), std::string("cmd=my_kvsname\n"),
                                      std::string("cmd=my_kvsname kvsname=k rc=-1\n"),
                                      std::string("cmd=my_kvsname kvsname=k\nmore\n"), long_line}) {
        Pair pair;
        FakeManager manager(pair.ends[1], {answer});
        Outcome outcome = outcome_of([&] { PmiClient(pair.ends[0], kLong).share(1, "k", ""); });
        assert_int_equal(outcome.status, MDIST_ERR_IO);
        assert_says(outcome, "PMI_FD answered");
    }
}

void who_never_answers_is_waited_for_to_the_deadline(void **) {
    Pair pair;
    Outcome outcome = outcome_of([&] { PmiClient(pair.ends[0], kShort).share(1, "k", ""); });
    assert_int_equal(outcome.status, MDIST_ERR_TIMEOUT);
}

void a_closed_or_wrong_descriptor_is_an_error(void **) {
    Pair pair;
    shutdown(pair.ends[1], SHUT_WR);
    assert_int_equal(outcome_of([&] { PmiClient(pair.ends[0], kLong).share(1, "k", ""); }).status, MDIST_ERR_PEER_LOST);
    assert_int_equal(outcome_of([] { PmiClient(987654, kLong).init(); }).status, MDIST_ERR_IO);
}

void a_reserved_port_is_for_who_knows_it(void **) {
    ReservedPort port(true);
    assert_true(port.number() != 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port.number());
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_not_equal(bind(fd, reinterpret_cast<sockaddr *>(&address), sizeof address), 0);
    int yes = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    assert_int_equal(bind(fd, reinterpret_cast<sockaddr *>(&address), sizeof address), 0);
    assert_int_equal(listen(fd, 1), 0);
    close(fd);
}

// The only test of settle_store: what it finds stays for the process.
void the_store_is_found_once_per_process(void **) {
    Pair pair;
    FakeManager manager(pair.ends[1],
                        {"cmd=response_to_init rc=0\n", "cmd=my_kvsname kvsname=k\n", "cmd=barrier_out\n",
                         "cmd=get_result rc=0 msg=success value=h0:4400,of-this-job\n", "cmd=finalize_ack\n"});
    FakeEnvironment environment({{"PMI_RANK", "1"},
                                 {"PMI_SIZE", "2"},
                                 {"PMI_FD", std::to_string(pair.ends[0])},
                                 {"MPI_LOCALRANKID", "0"},
                                 {"MPI_LOCALNRANKS", "1"}});
    Resolved first = resolve(environment_config(), environment), second = first;
    assert_true(first.store_by_pmi);
    assert_text(first.store, "");
    settle_store(first, environment, kLong, "");
    settle_store(second, environment, kLong, "");
    assert_text(first.store, "h0:4400");
    assert_text(second.store, "h0:4400");
    assert_text(second.secret, "of-this-job");
    Resolved alone;
    settle_store(alone, environment, kLong, "");
    assert_text(alone.store, "");
}

} // namespace

SUBJECT(cluster_pmi) {
    const CMUnitTest tests[] = {
        cmocka_unit_test(worker_0_puts_and_all_get),
        cmocka_unit_test(other_workers_do_not_put),
        cmocka_unit_test(strange_answers_are_refused),
        cmocka_unit_test(who_never_answers_is_waited_for_to_the_deadline),
        cmocka_unit_test(a_closed_or_wrong_descriptor_is_an_error),
        cmocka_unit_test(a_reserved_port_is_for_who_knows_it),
        cmocka_unit_test(the_store_is_found_once_per_process),
    };
    return cmocka_run_group_tests_name("cluster_pmi", tests, nullptr, nullptr);
}
