// SPDX-License-Identifier: Apache-2.0
#include "simulation.h"

#include "util/text.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

namespace mdist::test {
namespace {

constexpr uint64_t kConnectGivesUp = 3'000 * kMillisecond;
constexpr uint64_t kFirstRetransmission = 200 * kMillisecond;
constexpr uint16_t kFirstFreePort = 40000;

} // namespace

// ---- Process

Process::Process(Simulation &simulation, uint32_t number, std::string host)
    : simulation_(simulation), number_(number), host_(std::move(host)) {}

void Process::run(Machine *machine) {
    machine_ = machine;
    tick_at_ns_ = UINT64_MAX;
    touched();
}

void Process::touched() {
    if (machine_ != nullptr) simulation_.schedule_tick(*this);
}

uint64_t Process::now_ns() const {
    return simulation_.now_;
}

void Process::random(void *bytes, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
        static_cast<unsigned char *>(bytes)[i] = static_cast<unsigned char>(simulation_.random(256));
}

ConnectionId Process::connect(const Endpoint &to) {
    auto link = std::make_shared<Simulation::Link>();
    const ConnectionId id = ++simulation_.last_id_;
    link->ends[0] = {this, id, true, 0, 0};
    simulation_.links_[id] = {link, 0};
    Simulation &simulation = simulation_;
    simulation_.after(simulation_.delay(), [&simulation, link, to, this] {
        Process *target = simulation.listener(to);
        const bool lost = target != nullptr && (!target->alive_ || simulation.is_cut(*this, *target));
        if (lost || target == nullptr)
            return simulation.after(lost ? kConnectGivesUp : simulation.delay(), [&simulation, link, lost] {
                simulation.end(link, 0, lost ? ETIMEDOUT : ECONNREFUSED);
            });
        simulation.open(link, *this, *target);
    });
    return id;
}

Endpoint Process::listen(ConnectionId) {
    port_ = static_cast<uint16_t>(kFirstFreePort + simulation_.random(20000));
    return {host_, port_, true};
}

void Process::send_datagram(const Endpoint &to, std::string_view bytes) {
    Process *target = simulation_.listener(to);
    if (target == nullptr || simulation_.is_cut_one_way(*this, *target) || simulation_.random(200) == 0) return;
    Simulation &simulation = simulation_;
    simulation_.after(simulation_.delay(), [&simulation, target, piece = std::string(bytes)] {
        simulation.to_process(*target, [target, piece] { target->machine_->datagram(piece); });
    });
}

void Process::send(ConnectionId id, std::string_view bytes) {
    const auto [link, from] = simulation_.find(*this, id);
    if (!link || !link->ends[from].open) return;
    const int to = 1 - from;
    simulation_.arrive(
        link, to,
        [&simulation = simulation_, link = link, to, piece = std::string(bytes)] {
            simulation.deliver(link, to, piece);
        },
        bytes.size());
}

void Process::close(ConnectionId id) {
    const auto [link, from] = simulation_.find(*this, id);
    if (!link) return;
    link->ends[from].open = false;
    simulation_.links_.erase(id);
    const int to = 1 - from;
    if (link->ends[to].process != nullptr)
        simulation_.arrive(link, to, [&simulation = simulation_, link = link, to] { simulation.end(link, to, 0); });
}

void Process::watch(ConnectionId id, uint64_t silence_ns) {
    const auto [link, end] = simulation_.find(*this, id);
    if (link) link->ends[end].silence_ns = silence_ns;
}

int Process::release(ConnectionId id) {
    const auto [link, end] = simulation_.find(*this, id);
    if (link) link->ends[end].open = false;
    simulation_.links_.erase(id);
    return -1;
}

// ---- Simulation

Simulation::Simulation(uint64_t seed, bool trace) : engine_(seed), trace_(trace) {}

/// Breaks reference cycles: events that wait on a link hold that link.
Simulation::~Simulation() {
    for (const auto &one : waiting_)
        if (const LinkPointer link = one.lock()) link->waiting.clear();
}

Process &Simulation::add_process() {
    return add_process_on(text("10.0.0.", processes_.size() + 1));
}

Process &Simulation::add_process_in_place_of(const Process &dead) {
    return add_process_on(dead.host_);
}

Process &Simulation::add_process_on(const std::string &host) {
    const auto number = static_cast<uint32_t>(processes_.size());
    processes_.push_back(std::make_unique<Process>(*this, number, host));
    on_host_[host].push_back(processes_.back().get());
    return *processes_.back();
}

void Simulation::trace(const std::string &what) {
    if (trace_) std::fprintf(stderr, "%9.3f ms  %s\n", static_cast<double>(now_) / 1e6, what.c_str());
}

void Simulation::at(uint64_t time, std::function<void()> event) {
    events_.push({std::max(time, now_), count_++, std::move(event)});
}

bool Simulation::step(uint64_t limit) {
    if (events_.empty() || events_.top().time > limit) return false;
    auto run = std::move(const_cast<Event &>(events_.top()).run);
    now_ = events_.top().time;
    events_.pop();
    run();
    return true;
}

/// Draws a delay: usually a fraction of a millisecond, sometimes that of a retransmission.
uint64_t Simulation::delay() {
    if (costs_) return costs_->latency_ns;
    const uint64_t usual = 50'000 + random(500'000);
    return random(100) == 0 ? usual + 200 * kMillisecond : usual;
}

bool Simulation::is_cut(const Link &link) const {
    return !cuts_.empty() && link.ends[1].process != nullptr && is_cut(*link.ends[0].process, *link.ends[1].process);
}

std::pair<Simulation::LinkPointer, int> Simulation::find(const Process &process, ConnectionId id) {
    const auto found = links_.find(id);
    if (found == links_.end() || found->second.first->ends[found->second.second].process != &process) return {};
    return found->second;
}

Process *Simulation::listener(const Endpoint &at) {
    for (Process *const process : on_host_[at.host])
        if (process->port_ == at.port) return process;
    return nullptr;
}

/// Gives an event to a process. A stopped process gets it when it resumes. A dead one never gets it.
void Simulation::to_process(Process &process, std::function<void()> what) {
    if (!process.alive_) return;
    if (process.stopped_) return process.held_.push_back(std::move(what));
    what();
    if (when_told_) when_told_(process);
    if (process.alive_) schedule_tick(process);
}

void Simulation::schedule_tick(Process &process) {
    if (!process.alive_ || process.machine_ == nullptr) return;
    const uint64_t next = std::max(process.machine_->next_tick_ns(), now_);
    if (next >= process.tick_at_ns_ || process.machine_->next_tick_ns() == UINT64_MAX) return;
    process.tick_at_ns_ = next;
    at(next, [this, &process, next] {
        if (process.tick_at_ns_ != next) return; // an earlier tick has replaced it
        process.tick_at_ns_ = UINT64_MAX;
        to_process(process, [this, &process] {
            if (process.machine_ != nullptr && now_ >= process.machine_->next_tick_ns()) process.machine_->tick();
        });
    });
}

void Simulation::open(const LinkPointer &link, Process &caller, Process &called) {
    if (!link->ends[0].open) return; // closed in the meantime
    const ConnectionId id = ++last_id_;
    link->ends[1] = {&called, id, true, 0, 0};
    links_[id] = {link, 1};
    to_process(called, [&called, id, &caller] { called.machine_->accepted(id, caller.host_); });
    arrive(link, 0, [this, link, &caller] {
        to_process(caller, [link, &caller] {
            if (link->ends[0].open) caller.machine_->connected(link->ends[0].id);
        });
    });
}

void Simulation::arrive(const LinkPointer &link, int to, std::function<void()> what, std::size_t bytes) {
    End &end = link->ends[to];
    const uint64_t sent = costs_ ? when_done(*link->ends[1 - to].process, bytes) + costs_->latency_ns : now_ + delay();
    end.last_arrival = std::max(end.last_arrival, sent);
    if (!costs_ || end.process == nullptr)
        return at(end.last_arrival,
                  [this, link, to, what = std::move(what)]() mutable { pass(link, to, std::move(what)); });
    at(end.last_arrival, [this, link, to, what = std::move(what), bytes, &receiver = *end.process]() mutable {
        at(when_done(receiver, bytes),
           [this, link, to, what = std::move(what)]() mutable { pass(link, to, std::move(what)); });
    });
}

/// When that process is through with a message that it gets or sends now.
uint64_t Simulation::when_done(Process &process, std::size_t bytes) {
    const auto cost = costs_->message_ns + static_cast<uint64_t>(costs_->byte_ns * static_cast<double>(bytes));
    process.busy_until_ns_ = std::max(now_, process.busy_until_ns_) + cost;
    return process.busy_until_ns_;
}

void Simulation::pass(const LinkPointer &link, int to, std::function<void()> what) {
    if (!is_cut(*link) && link->waiting.empty()) return what();
    if (link->waiting.empty()) {
        link->waiting_since = now_;
        waiting_.push_back(link);
        give_up_if_watched(link);
    }
    link->waiting.emplace_back(to, std::move(what));
}

void Simulation::give_up_if_watched(const LinkPointer &link) {
    for (int end = 0; end < 2; ++end) {
        const uint64_t silence = link->ends[end].silence_ns;
        const uint64_t since = link->waiting_since;
        if (silence == 0) continue;
        at(since + silence, [this, link, end, since] {
            if (!link->waiting.empty() && link->waiting_since == since) this->end(link, end, ETIMEDOUT);
        });
    }
}

void Simulation::mend() {
    cuts_.clear();
    std::set<LinkPointer> all;
    for (const auto &[id, place] : links_) all.insert(place.first);
    std::vector<LinkPointer> ordered(all.begin(), all.end());
    const auto by_id = [](const LinkPointer &a, const LinkPointer &b) { return a->ends[0].id < b->ends[0].id; };
    std::sort(ordered.begin(), ordered.end(), by_id);
    for (const LinkPointer &link : ordered)
        if (!link->waiting.empty()) send_again(link);
}

/// Sends again when TCP makes its next attempt. The pause between attempts doubles each time.
void Simulation::send_again(const LinkPointer &link) {
    uint64_t next = link->waiting_since, pause = kFirstRetransmission;
    for (; next <= now_; pause *= 2) next += pause;
    at(next, [this, link] {
        if (is_cut(*link)) return;
        for (auto &[to, what] : std::exchange(link->waiting, {})) what(); // before later messages
    });
}

void Simulation::deliver(const LinkPointer &link, int to, const std::string &bytes) {
    Process &process = *link->ends[to].process;
    to_process(process, [this, link, to, bytes, &process] {
        const ConnectionId id = link->ends[to].id;
        std::string_view rest = bytes;
        while (!rest.empty() && link->ends[to].open) {
            const std::size_t count = std::min(rest.size(), process.machine_->wanted(id));
            if (count == 0) return process.close(id);
            const std::string_view piece = rest.substr(0, count);
            rest.remove_prefix(count);
            process.machine_->received(id, piece);
        }
        // Bytes that reach a closed connection are answered by a reset.
        const int from = 1 - to;
        if (!rest.empty() && link->ends[from].open)
            arrive(link, from, [this, link, from] { end(link, from, ECONNRESET); });
    });
}

void Simulation::end(const LinkPointer &link, int which, int error) {
    Process &process = *link->ends[which].process;
    to_process(process, [this, link, which, error, &process] {
        if (!link->ends[which].open) return;
        link->ends[which].open = false;
        links_.erase(link->ends[which].id);
        process.machine_->closed(link->ends[which].id, error);
    });
}

void Simulation::kill(Process &process) {
    trace(text("kill ", process.host_));
    std::vector<ConnectionId> mine;
    for (const auto &[id, place] : links_)
        if (place.first->ends[place.second].process == &process) mine.push_back(id);
    process.alive_ = false;
    process.port_ = 0;
    for (const ConnectionId id : mine) process.close(id);
}

void Simulation::power_off(Process &process) {
    trace(text("power off ", process.host_));
    process.alive_ = false;
}

void Simulation::stop(Process &process) {
    trace(text("stop ", process.host_));
    process.stopped_ = true;
}

void Simulation::go_on(Process &process) {
    if (!process.stopped_) return;
    trace(text("go on ", process.host_));
    process.stopped_ = false;
    for (auto &what : std::exchange(process.held_, {})) to_process(process, std::move(what));
}

void Simulation::reset_one(Process &process) {
    std::vector<LinkPointer> mine;
    for (const auto &[id, place] : links_)
        if (place.first->ends[place.second].process == &process && place.first->ends[1].process != nullptr)
            mine.push_back(place.first);
    if (mine.empty()) return;
    const LinkPointer link = mine[random(mine.size())];
    trace(text("reset ", link->ends[0].process->host_, " - ", link->ends[1].process->host_));
    for (int which = 0; which < 2; ++which)
        if (link->ends[which].open) end(link, which, ECONNRESET);
}

} // namespace mdist::test
