// SPDX-License-Identifier: Apache-2.0
#include "strategy/job/consensus.h"

#include "comm/call/bad_message.h"
#include "util/failure.h"
#include "util/payload.h"
#include "util/text.h"

#include <algorithm>

namespace mdist {
namespace {

/// What a worker tells the others about its part.
struct Outcome {
    std::string subject;
    mdist_status_t status = MDIST_OK;
    int64_t native = 0;
    std::string reason;
    std::string words; // the part's result, or the failure's message

    std::string encoded() const {
        return PayloadWriter().blob(subject).blob(reason).blob(words)(static_cast<int32_t>(status), native).take();
    }

    static Outcome decoded(std::string_view from, uint32_t worker) {
        PayloadReader reader(from);
        Outcome out;
        for (std::string *field : {&out.subject, &out.reason, &out.words}) *field = reader.blob();
        int32_t status = 0;
        reader(status, out.native);
        if (!reader.complete() || status > MDIST_END || status < MDIST_ERR_INTERNAL)
            throw bad_message(worker, "bytes that are not a valid outcome");
        out.status = static_cast<mdist_status_t>(status);
        return out;
    }

    Failure failure(uint32_t worker) const {
        return Failure(status, words).reason(reason).native(native).worker(worker);
    }
};

Outcome attempt(const std::string &subject, const std::function<std::string()> &part) {
    Outcome out;
    out.subject = subject;
    try {
        out.words = part();
    } catch (const std::exception &caught) {
        const Failure failure = as_failure(caught);
        out.status = failure.status();
        out.native = failure.native();
        out.reason = failure.reason();
        out.words = failure.message();
    }
    return out;
}

} // namespace

std::pair<std::string, std::string> first_difference(std::string_view a, std::string_view b) {
    const auto take_line = [](std::string_view &text) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        return std::string(line.empty() ? "nothing more" : line);
    };
    for (;;) {
        const std::string line_a = take_line(a), line_b = take_line(b);
        if (line_a != line_b || (a.empty() && b.empty())) return {line_a, line_b};
    }
}

void require_same_texts(const Workers &workers, const std::vector<std::string> &texts, const char *rule) {
    for (uint32_t worker = 1; worker < texts.size(); ++worker) {
        if (texts[worker] == texts[0]) continue;
        const auto [chiefs, others] = first_difference(texts[0], texts[worker]);
        throw Failure(MDIST_ERR_MISMATCH, text(workers.name(0), " has ", chiefs, " and ", workers.name(worker), " has ",
                                               others, "; ", rule))
            .reason("different_calls")
            .worker(worker);
    }
}

Consensus::Consensus(Job &job, const Call &call, uint64_t timeout_ns)
    : workers_(job.workers()), call_(call), timeout_ns_(job.comm.timeout_or_own(timeout_ns)) {}

Consensus::Consensus(Job &job, CallKind kind, uint64_t timeout_ns) : Consensus(job, Call{.kind = kind}, timeout_ns) {}

std::vector<std::string> Consensus::gather(const std::string &subject, const std::function<std::string()> &part) {
    if (workers_ == nullptr) return {part()};
    const std::string mine = attempt(subject, part).encoded();
    std::vector<Outcome> outcomes;
    std::vector<std::string> subjects, words;
    for (const std::string &blob : workers_->gather(call_, mine, timeout_ns_))
        subjects.push_back(
            outcomes.emplace_back(Outcome::decoded(blob, static_cast<uint32_t>(subjects.size()))).subject);
    require_same_texts(*workers_, subjects, "all workers must save and restore the same");
    for (uint32_t worker = 0; worker < outcomes.size(); ++worker)
        if (outcomes[worker].status != MDIST_OK) throw outcomes[worker].failure(worker);
    for (Outcome &outcome : outcomes) words.push_back(std::move(outcome.words));
    return words;
}

std::string Consensus::agree(const std::string &subject, const std::function<std::string()> &part) {
    if (workers_ == nullptr) return part(); // keep this last: the part may have done something final
    return std::move(gather(subject, part).at(0));
}

void Consensus::broadcast(void *data, std::size_t bytes) {
    if (workers_ != nullptr) workers_->broadcast(call_, data, bytes, timeout_ns_);
}

} // namespace mdist
