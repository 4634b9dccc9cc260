// SPDX-License-Identifier: Apache-2.0
// Forms a Gloo link; also the module's entry. Each pair has an address of its own, and whoever connects first gets the
// pair. So both ends then show the number that the other end drew for this pair and sent in the exchange.
#include "comm/links/gloo_link.h"
#include "comm/links/gloo_module.h"
#include "util/clock.h"
#include "util/failure.h"
#include "util/text.h"

#include <array>
#include <cstring>

#include <dlfcn.h>
#include <sys/random.h>

namespace mdist {
namespace {

constexpr uint64_t kBlobMagic = 0x316f6f6c67646d; // "mdgloo1"; its byte order also tells the worker's

using Proof = std::array<unsigned char, 16>;

/// The part of a blob that is for one peer.
struct Offer {
    uint32_t peer;
    uint32_t address_bytes;
    std::array<char, 136> address; // as Gloo writes it: a sockaddr_storage and a number
    Proof proof;                   // what the peer must show
};
static_assert(std::is_trivially_copyable_v<Offer>);

Offer make_offer(const GlooLink &link, uint32_t peer) {
    Offer offer{};
    offer.peer = peer;
    const std::vector<char> address = link.pair(peer)->address().bytes();
    if (address.size() > offer.address.size())
        throw Failure(MDIST_ERR_INTERNAL, text("Gloo's address has ", address.size(), " bytes"));
    offer.address_bytes = static_cast<uint32_t>(address.size());
    std::copy(address.begin(), address.end(), offer.address.begin());
    if (getrandom(offer.proof.data(), offer.proof.size(), 0) != static_cast<ssize_t>(offer.proof.size()))
        throw Failure(MDIST_ERR_IO, "cannot get random numbers from the system").native(errno);
    return offer;
}

std::string blob_of(const std::vector<Offer> &offers) {
    std::string blob(reinterpret_cast<const char *>(&kBlobMagic), sizeof kBlobMagic);
    blob.append(reinterpret_cast<const char *>(offers.data()), offers.size() * sizeof(Offer));
    return blob;
}

/// Finds the part of `peer`'s blob that is for `self`.
Offer find_offer(const std::string &blob, uint32_t peer, uint32_t self) {
    Offer offer{};
    if (blob.size() < sizeof kBlobMagic || std::memcmp(blob.data(), &kBlobMagic, sizeof kBlobMagic) != 0)
        throw Failure(
            MDIST_ERR_MISMATCH,
            text("worker ", peer,
                 " uses another kind of link, or another version of it. Run the same libmdist on all workers"))
            .worker(peer);
    for (std::size_t at = sizeof kBlobMagic; blob.size() - at >= sizeof offer; at += sizeof offer) {
        std::memcpy(&offer, blob.data() + at, sizeof offer);
        if (offer.peer == self && offer.address_bytes <= offer.address.size()) return offer;
    }
    throw Failure(MDIST_ERR_MISMATCH, text("worker ", peer, " does not count worker ", self, " among its peers"))
        .worker(peer);
}

Failure out_of_time(uint32_t peer) {
    return Failure(MDIST_ERR_TIMEOUT, text("worker ", peer, " did not connect in time")).worker(peer);
}

void connect(GlooLink &link, const Offer &offer, uint32_t peer, uint64_t deadline_ns) {
    GlooPair &pair = *link.pair(peer);
    if (monotonic_clock().now_ns() >= deadline_ns) throw out_of_time(peer);
    try {
        pair.connect(std::vector<char>(offer.address.data(), offer.address.data() + offer.address_bytes));
    } catch (const std::exception &error) {
        if (monotonic_clock().now_ns() >= deadline_ns) throw out_of_time(peer);
        throw Failure(MDIST_ERR_PEER_LOST, text("no connection with worker ", peer, ": ", gloo_reason(error)))
            .worker(peer);
    }
    pair.close_on_exec();
}

void await(GlooLink &link, const Pending &pending, uint32_t peer, uint64_t deadline_ns) {
    for (link.progress(); !pending.done(); link.progress()) {
        const uint64_t now = monotonic_clock().now_ns();
        if (now >= deadline_ns) throw out_of_time(peer);
        link.wait(deadline_ns - now);
    }
}

/// Exchanges the first message of each pair, which proves who the peer is.
void greet(GlooLink &link, const std::vector<Offer> &ours, const std::vector<Offer> &theirs, uint64_t deadline_ns) {
    std::vector<Proof> shown(ours.size());
    std::vector<Pending> pending(ours.size());
    try {
        for (std::size_t i = 0; i < ours.size(); ++i) {
            link.receive(ours[i].peer, kBlobMagic, shown[i].data(), sizeof(Proof), pending[i]);
            link.send(ours[i].peer, kBlobMagic, theirs[i].proof.data(), sizeof(Proof), pending[i]);
        }
        for (std::size_t i = 0; i < ours.size(); ++i) {
            await(link, pending[i], ours[i].peer, deadline_ns);
            if (shown[i] != ours[i].proof)
                throw Failure(MDIST_ERR_UNAUTHENTICATED, text("a process connected as worker ", ours[i].peer,
                                                              " without proving that it is worker ", ours[i].peer))
                    .worker(ours[i].peer);
        }
    } catch (...) {
        link.close(); // makes the link stop using the memory of this function
        throw;
    }
}

void check(const GlooOptions &options) {
    std::vector<bool> named(options.parties, false);
    if (options.self >= options.parties)
        throw invalid(text("worker ", options.self, " of ", options.parties, " workers"));
    for (const uint32_t peer : options.peers) {
        if (peer >= options.parties || peer == options.self || named[peer])
            throw invalid(
                text("worker ", peer, " is not one of ", options.parties - 1, " other workers, or is named twice"));
        named[peer] = true;
    }
}

std::unique_ptr<Link> make(const GlooOptions &options) {
    check(options);
    auto link =
        std::make_unique<GlooLink>(options.self, options.parties, options.address, options.peers, options.timeout_ns);
    std::vector<Offer> ours;
    for (const uint32_t peer : options.peers) ours.push_back(make_offer(*link, peer));
    const std::vector<std::string> blobs = options.exchange(blob_of(ours));
    const uint64_t deadline_ns = monotonic_clock().now_ns() + options.timeout_ns;
    std::vector<Offer> theirs;
    for (const uint32_t peer : options.peers) theirs.push_back(find_offer(blobs.at(peer), peer, options.self));
    for (std::size_t i = 0; i < theirs.size(); ++i) connect(*link, theirs[i], ours[i].peer, deadline_ns);
    greet(*link, ours, theirs, deadline_ns);
    return link;
}

/// Says why the module cannot be used. A program may have loaded another Gloo, such as the one in libtorch, that took
/// the place of ours.
const char *objection() {
    Dl_info info;
    const auto *function = reinterpret_cast<const void *>(&gloo::transport::tcp::CreateDeviceAttr);
    if (dladdr(function, &info) != 0 && std::strstr(info.dli_fname, "/libgloo.so") != nullptr) return nullptr;
    return "this process has already loaded another copy of Gloo, which would replace the one that libmdist-gloo.so "
           "needs";
}

} // namespace
} // namespace mdist

extern "C" __attribute__((visibility("default"))) const mdist::GlooModule *mdist_gloo_module() {
    static const mdist::GlooModule module = {MDIST_VERSION, sizeof(mdist::GlooOptions), mdist::objection, mdist::make};
    return &module;
}
