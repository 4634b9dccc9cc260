// SPDX-License-Identifier: Apache-2.0
// The workers of an elastic job while it runs: who is lost, who takes a lost worker's place, and who is to leave.
#include "launch/attempt.h"

#include <algorithm>
#include <system_error>
#include <utility>

namespace mdist {
namespace {

std::string name_of(const Worker &worker) {
    return "rank " + std::to_string(worker.place().rank);
}

/// Whether another worker may do better: it was killed, or its host is out of reach, or cannot run the program.
bool is_lost(const Worker &worker) {
    const int code = worker.code(); // of ssh: 255; of the shell over there: 126 and 127
    return worker.was_killed() || (worker.place().remote && (code == 255 || code == 126 || code == 127));
}

} // namespace

/// The others go on without it. If it was lost, a new one takes its place, unless the job is about to end.
void Attempt::note_end_in_elastic(Worker &worker) {
    const Time now = Clock::now();
    replacing_->worker_ended(worker.id());
    note_left_behind(now); // perhaps it has ended because of that
    if (dismissed_.count(&worker) != 0) return console_.notice(name_of(worker) + " has left the job");
    if (worker.ended_well()) return;
    if (first_failed_ == nullptr) first_failed_ = &worker;
    const auto left = left_behind_.find(&worker);
    const bool was_left = left != left_behind_.end();
    const bool ends = is_about_to_end() || (was_left ? !left->second.job_goes_on : worker.told() != 0);
    std::string sentence = name_of(worker) + " has ended (" + worker.how() + ")";
    if (ends || !(is_lost(worker) || was_left)) {
        if (wanted_ != 0) --wanted_;
        return console_.notice(sentence);
    }
    if (replacing_->hosts->note_failure(worker.place().host, worker.began(), now))
        sentence += ". Workers failed on " + worker.place().host + " again and again, so it gets none for " +
                    seconds_text(options_.leave_out_s);
    lost_.push_back({worker.place(), std::move(sentence)});
}

/// Of those that were not asked to leave: what such a worker ends with says nothing about the job.
bool Attempt::any_ended_well() const {
    return std::any_of(workers_.begin(), workers_.end(), [this](const auto &worker) {
        return worker->ended() && worker->ended_well() && dismissed_.count(worker.get()) == 0;
    });
}

bool Attempt::is_about_to_end() const {
    return asked_ != 0 || clearing_ || outcome_.cause != Cause::kWorkers || any_ended_well();
}

/// Whether it was lost to the others by a signal or by its silence, and has not ended by itself.
bool Attempt::was_lost(Worker &worker) const {
    const bool was_left = left_behind_.count(&worker) != 0;
    return worker.told() != 0 ? was_left : is_lost(worker);
}

/// Whether the job has ended since workers were lost, before its first commit.
bool Attempt::lost_nothing() const {
    if (outcome_.cause != Cause::kWorkers || any_ended_well()) return false;
    const auto is_any = [this](auto property) { return std::any_of(workers_.begin(), workers_.end(), property); };
    return is_any([this](const auto &worker) { return was_lost(*worker); }) &&
           (is_any([](const auto &worker) { return worker->had_no_commit(); }) || replacing_->ended_without_commit());
}

/// Learns which workers the elastic job is without. Once a worker has ended well, the job is done, and the others may
/// take as long as they like.
void Attempt::note_left_behind(Time now) {
    while (const std::optional<LeftBehind> left = replacing_->left_behind()) {
        const auto found =
            std::find_if(workers_.begin(), workers_.end(), [&](const auto &one) { return one->id() == left->id; });
        if (found == workers_.end() || any_ended_well()) continue;
        Worker &worker = **found;
        const bool goes_on = left->how != MDIST_DEPARTURE_JOB_FAILED;
        if (left->how == MDIST_DEPARTURE_LEFT) {
            if (dismissed_.insert(&worker).second && wanted_ > replacing_->least) --wanted_;
            console_.notice(name_of(worker) + " leaves the job, as it has said; the job goes on without it");
            continue;
        }
        left_behind_.emplace(&worker, Leftover{Ending(options_.grace_s), goes_on}).first->second.ending.let_end(now);
        if (worker.ended()) continue;
        console_.notice(name_of(worker) + " (pid " + std::to_string(worker.pid()) + ") does not answer; the job " +
                        (goes_on ? "goes on without it" : "has failed") + ". It has " + seconds_text(options_.grace_s) +
                        " to end");
    }
}

/// Ends those that do not end by themselves.
void Attempt::end_left_behind(Time now) {
    if (!replacing_) return;
    note_left_behind(now);
    if (!dismissed_.empty() && any_ended_well()) // they have nothing left to do
        for (Worker *worker : dismissed_)
            if (const auto [at, fresh] = left_behind_.try_emplace(worker, Leftover{Ending(options_.grace_s), false});
                fresh)
                at->second.ending.let_end(now);
    for (auto &[worker, leftover] : left_behind_)
        if (const int signal = worker->ended() ? 0 : leftover.ending.due(now)) worker->send(signal);
}

/// Starts workers in the places of those that are lost, and more as soon as hosts have room for them.
void Attempt::fill() {
    if (!replacing_) return;
    const bool is_over = is_about_to_end() || all_ended();
    if (!is_over) follow_hosts();
    for (const Lost &lost : std::exchange(lost_, {}))
        console_.notice(lost.sentence + (is_over || staying().size() >= wanted_ ? "" : "; " + replace(lost)));
    if (is_over) return;
    if (const auto problem = start_more()) console_.notice(*problem);
}

/// Asks the newest workers of a host to leave that has gone, or has room for fewer now.
void Attempt::follow_hosts() {
    if (replacing_->discovery == nullptr) return;
    const auto hosts = replacing_->discovery->take(console_);
    if (!hosts) return;
    console_.notice("--discover: the hosts are now " + text_of(*hosts));
    replacing_->hosts->set(*hosts);
    std::map<std::string, uint32_t> there;
    for (Worker *worker : staying())
        if (++there[worker->place().host] > replacing_->hosts->room_of(worker->place().host)) dismiss(*worker);
}

void Attempt::dismiss(Worker &worker) {
    dismissed_.insert(&worker);
    replacing_->dismiss(worker.id());
}

/// Returns what becomes of the place.
std::string Attempt::replace(const Lost &lost) {
    const std::optional<Place> place = free_place(lost.place.rank, lost.place.host);
    if (!place) return "a new worker takes its place when a host has room";
    try {
        start_worker(*place);
    } catch (const std::system_error &problem) { // of this machine; the job goes on
        --wanted_;
        return std::string("no worker takes its place: ") + problem.what();
    }
    return "a new worker takes its place" + (place->host == lost.place.host ? "" : " on " + place->host);
}

/// Returns what went wrong if one cannot be started. The job then goes on with fewer.
std::optional<std::string> Attempt::start_more() {
    for (std::size_t count = staying().size(); count < wanted_; ++count) {
        const uint32_t rank = free_rank();
        const std::optional<Place> place = free_place(rank, "");
        if (!place) return std::nullopt;
        try {
            start_worker(*place);
        } catch (const std::system_error &problem) {
            wanted_ = static_cast<uint32_t>(count);
            return "rank " + std::to_string(rank) + " cannot be started: " + problem.what() + ". The job has " +
                   std::to_string(count) + " workers now";
        }
        console_.notice("rank " + std::to_string(rank) + " begins on " + place->host);
    }
    return std::nullopt;
}

void Attempt::start_worker(const Place &place) {
    workers_.push_back(
        std::make_unique<Worker>(replacing_->start_again(place, ++replacements_), signals_.original_mask()));
    deaths_.watch(workers_.back()->pid());
}

/// Workers that were asked to leave keep their places until they have ended.
std::optional<Place> Attempt::free_place(uint32_t rank, const std::string &host) const {
    std::vector<Place> taken;
    for (const auto &worker : workers_)
        if (!worker->ended()) taken.push_back(worker->place());
    return replacing_->hosts->find(rank, taken, host, Clock::now());
}

/// The lowest rank that no worker has, except for those that were asked to leave.
uint32_t Attempt::free_rank() const {
    std::vector<bool> used(replacing_->most, false);
    for (const Worker *worker : staying()) used.at(worker->place().rank - replacing_->first_rank) = true;
    return replacing_->first_rank + static_cast<uint32_t>(std::find(used.begin(), used.end(), false) - used.begin());
}

/// The workers that run and were not asked to leave, in the order of their starts.
std::vector<Worker *> Attempt::staying() const {
    std::vector<Worker *> found;
    for (const auto &worker : workers_)
        if (!worker->ended() && dismissed_.count(worker.get()) == 0) found.push_back(worker.get());
    return found;
}

/// Starts workers in free places, or asks the newest to leave. Returns the answer for who asked for it.
std::string Attempt::resize(uint32_t wanted) {
    if (wanted < replacing_->least || wanted > replacing_->most)
        return "the job has from " + std::to_string(replacing_->least) + " to " + std::to_string(replacing_->most) +
               " workers (-n MIN:MAX), so it cannot have " + std::to_string(wanted);
    if (is_about_to_end()) return "the job is about to end";
    std::vector<Worker *> stay = staying();
    const std::string numbers = std::to_string(wanted) + " workers instead of " + std::to_string(stay.size());
    for (; stay.size() > wanted; stay.pop_back()) {
        dismiss(*stay.back());
    }
    wanted_ = wanted;
    if (const auto problem = start_more()) return *problem;
    console_.notice("--resize: " + numbers);
    return kGranted + numbers;
}

} // namespace mdist
