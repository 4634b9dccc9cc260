// SPDX-License-Identifier: Apache-2.0
// Waits: which replica waits for which other one in a message, as far as this worker knows. Each worker tells the
// others of a wait that has become long, so that a timeout can say in words what everybody waits for.
//
// One thread at a time (the mail's lock).
#pragma once

#include "comm/mail/post.h"

#include <map>
#include <optional>
#include <string>

namespace mdist {

class Waits {
  public:
    struct Wait {
        bool sends = false;
        MailKey key;

        uint32_t self() const { return sends ? key.from : key.to; }
        uint32_t other() const { return sends ? key.to : key.from; }
        /// "waits to receive from 1 (tag 7)"
        std::string text() const;

        template <class Self, class Payload>
        static void fields(Self &self, Payload &payload) {
            payload(self.sends, self.key.from, self.key.to, self.key.tag, self.key.run);
        }
    };

    /// A replica waits, or no longer. Each waits in one call at a time.
    void set(const Wait &wait) { waits_.insert_or_assign(wait.self(), wait); }
    void erase(uint32_t replica) { waits_.erase(replica); }
    const Wait *of(uint32_t replica) const;

    /// How other workers are told.
    static std::string encode(const Wait &wait, bool over);
    struct Told {
        Wait wait;
        bool over = false;
    };
    static std::optional<Told> decode(const std::string &notice);

    /// "replica 0 waits to receive from 1 (tag 7), which waits to receive from 0 (tag 3)". Ends where a circle closes,
    /// at a message whose two sides wait, or where nothing more is known; `elsewhere(replica)` may say what that
    /// replica does then, such as "waits in mdist_all_reduce". `circle` receives whether a circle closes.
    /// `known(replica)` gives a replica's wait, if it has one, as an optional.
    template <class Known, class Elsewhere>
    static std::string chain(const Wait &first, const Known &known, const Elsewhere &elsewhere, bool &circle);

  private:
    std::map<uint32_t, Wait> waits_; // by replica
};

template <class Known, class Elsewhere>
std::string Waits::chain(const Wait &first, const Known &known, const Elsewhere &elsewhere, bool &circle) {
    std::string all = "replica " + std::to_string(first.self()) + " " + first.text();
    std::map<uint32_t, bool> named = {{first.self(), true}};
    uint32_t next = first.other();
    Wait before = first;
    for (std::optional<Wait> wait = known(next); wait && !named[next]; wait = known(next)) {
        named[next] = true;
        all += ", which " + wait->text();
        if (wait->key == before.key) return all + ": both sides of this message are there";
        before = *wait;
        next = wait->other();
    }
    circle = named[next];
    if (circle) return all;
    const std::string last = elsewhere(next);
    return last.empty() ? all : all + ", which " + last;
}

} // namespace mdist
