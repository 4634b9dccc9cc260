// SPDX-License-Identifier: Apache-2.0
// The table of NCCL's functions: handles, groups, and faults.
#include "tables.h"

#include "calls.h"
#include "nccl_comm.h"

#include "reduce/reduce.h"
#include "util/dtype.h"

#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

struct mdist_gpu_comm {
    std::shared_ptr<fake_gpu::Communicator> communicator;
};

namespace fake_gpu {
namespace {

using Pointer = std::shared_ptr<Communicator>;

struct CommunicatorTable {
    std::mutex lock;
    std::map<const mdist_gpu_comm *, std::unique_ptr<mdist_gpu_comm>> comms;
};

CommunicatorTable &communicator_table() {
    static CommunicatorTable &once = *new CommunicatorTable;
    return once;
}

/// The calls of a group that has not ended yet.
struct Grouped {
    Pointer communicator;
    mdist_gpu_stream *stream;
    std::vector<NcclCall> calls;
    bool hang;
};
struct Group {
    int depth = 0;
    int error = 0; // that of the first call that failed
    std::vector<Grouped> parts;
};
/// The group that this thread has begun. It has no destructor. One would run as the thread ends, and the C library then
/// frees the memory of this variable in an order that the thread sanitizer does not see.
thread_local Group *group = nullptr;

Pointer find(const mdist_gpu_comm *comm) {
    CommunicatorTable &all = communicator_table();
    const std::lock_guard guard(all.lock);
    const auto found = all.comms.find(comm);
    if (found != all.comms.end()) return found->second->communicator;
    note_problem("a communicator was used that is none");
    return nullptr;
}

Pointer remove(const mdist_gpu_comm *comm) {
    Pointer found = find(comm);
    CommunicatorTable &all = communicator_table();
    const std::lock_guard guard(all.lock);
    all.comms.erase(comm);
    return found;
}

int nccl_error_of(Fault fault, int32_t device) {
    switch (fault) {
        case Fault::kNone:
        case Fault::kHang:
            return kNcclOk;
        case Fault::kOutOfMemory:
            return kNcclSystem;
        case Fault::kInvalid:
            return kNcclInvalidArgument;
        case Fault::kFatal:
            return fail_device(device, kIllegalAddress), kNcclUnhandledCuda;
        case Fault::kFailed:
            break;
    }
    return kNcclInternal;
}

/// Makes the communicator fail, unless the error is only a bad argument.
int broken(Communicator &communicator, int error) {
    if (error != kNcclInvalidArgument) communicator.fail(error);
    return error;
}

void add_to_group(const Pointer &communicator, mdist_gpu_stream *stream, const NcclCall &call, bool hang) {
    for (Grouped &part : group->parts) {
        if (part.communicator != communicator) continue;
        if (part.stream != stream) note_problem("one group has calls of a communicator on several streams");
        part.calls.push_back(call);
        part.hang |= hang;
        return;
    }
    group->parts.push_back({communicator, stream, {call}, hang});
}

bool is_good(const Communicator &communicator, const CallHeader &header) {
    const auto op = static_cast<mdist::reduce::Op>(header.op);
    const bool good_op = header.op >= 0 && header.op <= 5 && op != mdist::reduce::Op::kMean;
    const bool reduces = header.what == Collective::kAllReduce || header.what == Collective::kReduce ||
                         header.what == Collective::kReduceScatter;
    const bool good_dtype = mdist::dtype_size(header.dtype) != 0 && (!reduces || header.dtype <= MDIST_UINT64);
    return good_dtype && good_op && header.root >= 0 && header.root < communicator.ranks();
}

int call_nccl(const char *name, mdist_gpu_comm *comm, mdist_gpu_stream *stream, const NcclCall &call) {
    const Fault fault = count_call(name);
    const Pointer communicator = find(comm);
    if (communicator == nullptr) return kNcclInvalidArgument;
    int error = communicator->ready_for_call();
    if (error == kNcclOk) error = broken(*communicator, nccl_error_of(fault, communicator->device()));
    if (error == kNcclOk && !is_good(*communicator, call.header)) {
        note_problem("NCCL was called with a dtype, an operation or a rank that it does not have");
        error = kNcclInvalidArgument;
    }
    const bool hang = fault == Fault::kHang;
    if (group != nullptr) {
        if (error == kNcclOk) add_to_group(communicator, stream, call, hang);
        if (group->error == kNcclOk) group->error = error;
        return error;
    }
    return error != kNcclOk ? error : communicator->begin(stream, {call}, hang);
}

int unique_id(unsigned char id[MDIST_GPU_ID_BYTES]) {
    if (const int error = nccl_error_of(count_call("nccl_unique_id"), 0)) return error;
    return make_id(id);
}

int init(mdist_gpu_comm **comm, int32_t device, int32_t ranks, int32_t rank,
         const unsigned char id[MDIST_GPU_ID_BYTES]) {
    *comm = nullptr;
    const Fault fault = count_call("nccl_init");
    if (!is_device(device)) return note_problem("a GPU was named that there is not"), kNcclInvalidArgument;
    if (device_error(device) != 0) return kNcclUnhandledCuda;
    if (const int error = nccl_error_of(fault, device)) return error;
    int error = kNcclOk;
    auto membership = std::make_unique<Membership>(id, ranks, rank, device, error);
    if (error != kNcclOk) return error;
    auto made = std::make_unique<mdist_gpu_comm>();
    made->communicator = std::make_shared<Communicator>(device, ranks, rank, std::move(membership));
    *comm = made.get();
    CommunicatorTable &all = communicator_table();
    const std::lock_guard guard(all.lock);
    all.comms.emplace(made.get(), std::move(made));
    return kNcclInProgress;
}

int async_error(mdist_gpu_comm *comm, int *error) {
    const Fault fault = count_call("nccl_async_error");
    const Pointer communicator = find(comm);
    if (communicator == nullptr) return kNcclInvalidArgument;
    if (const int injected = nccl_error_of(fault, communicator->device())) communicator->fail(injected);
    *error = communicator->state();
    return kNcclOk;
}

int finalize(mdist_gpu_comm *comm) {
    const Fault fault = count_call("nccl_finalize");
    const Pointer communicator = find(comm);
    if (communicator == nullptr) return kNcclInvalidArgument;
    if (const int error = nccl_error_of(fault, communicator->device())) return broken(*communicator, error);
    return communicator->finalize();
}

int destroy(mdist_gpu_comm *comm) {
    const Fault fault = count_call("nccl_destroy");
    const Pointer communicator = remove(comm);
    if (communicator == nullptr) return kNcclInvalidArgument;
    if (!communicator->finalized()) note_problem("a communicator was destroyed that was not finalized");
    communicator->abort();
    return nccl_error_of(fault, communicator->device());
}

int abort_comm(mdist_gpu_comm *comm) {
    const Fault fault = count_call("nccl_abort");
    if (fault == Fault::kHang) hang(begin_hang());
    const Pointer communicator = remove(comm);
    if (communicator == nullptr) return kNcclInvalidArgument;
    communicator->abort();
    return nccl_error_of(fault, communicator->device());
}

int group_start() {
    if (const int error = nccl_error_of(count_call("nccl_group_start"), 0)) return error;
    if (group == nullptr) group = new Group;
    ++group->depth;
    return kNcclOk;
}

int group_end() {
    const Fault fault = count_call("nccl_group_end");
    if (group == nullptr) return note_problem("a group was ended that was not begun"), kNcclInvalidUsage;
    if (--group->depth > 0) return kNcclOk;
    const std::unique_ptr<const Group> ended(std::exchange(group, nullptr));
    const int injected = nccl_error_of(fault, 0);
    int result = ended->error != kNcclOk ? ended->error : injected;
    for (const Grouped &part : ended->parts) {
        if (result != kNcclOk && result != kNcclInProgress) {
            part.communicator->fail(result);
        } else if (const int error = part.communicator->begin(part.stream, part.calls, part.hang)) {
            result = error;
        }
    }
    return result;
}

int all_reduce(mdist_gpu_comm *comm, const void *from, void *to, uint64_t elements, int32_t dtype, int32_t op,
               mdist_gpu_stream *stream) {
    return call_nccl("nccl_all_reduce", comm, stream, {{Collective::kAllReduce, dtype, op, 0, elements}, from, to});
}

int reduce(mdist_gpu_comm *comm, const void *from, void *to, uint64_t elements, int32_t dtype, int32_t op, int32_t root,
           mdist_gpu_stream *stream) {
    return call_nccl("nccl_reduce", comm, stream, {{Collective::kReduce, dtype, op, root, elements}, from, to});
}

int broadcast(mdist_gpu_comm *comm, const void *from, void *to, uint64_t elements, int32_t dtype, int32_t root,
              mdist_gpu_stream *stream) {
    return call_nccl("nccl_broadcast", comm, stream, {{Collective::kBroadcast, dtype, 0, root, elements}, from, to});
}

int all_gather(mdist_gpu_comm *comm, const void *from, void *to, uint64_t elements_each, int32_t dtype,
               mdist_gpu_stream *stream) {
    return call_nccl("nccl_all_gather", comm, stream, {{Collective::kAllGather, dtype, 0, 0, elements_each}, from, to});
}

int reduce_scatter(mdist_gpu_comm *comm, const void *from, void *to, uint64_t elements_each, int32_t dtype, int32_t op,
                   mdist_gpu_stream *stream) {
    return call_nccl("nccl_reduce_scatter", comm, stream,
                     {{Collective::kReduceScatter, dtype, op, 0, elements_each}, from, to});
}

int send(mdist_gpu_comm *comm, const void *from, uint64_t elements, int32_t dtype, int32_t peer,
         mdist_gpu_stream *stream) {
    return call_nccl("nccl_send", comm, stream, {{Collective::kSend, dtype, 0, peer, elements}, from, nullptr});
}

int receive(mdist_gpu_comm *comm, void *to, uint64_t elements, int32_t dtype, int32_t peer, mdist_gpu_stream *stream) {
    return call_nccl("nccl_receive", comm, stream, {{Collective::kReceive, dtype, 0, peer, elements}, nullptr, to});
}

const char *last_error(mdist_gpu_comm *) {
    return "";
}

mdist_nccl_api make_table() {
    return {
        .kind_size = sizeof(mdist_nccl_api),
        .version = options().nccl,
        .kind = nccl_kind,
        .text = nccl_text,
        .last_error = last_error,
        .unique_id = unique_id,
        .init = init,
        .async_error = async_error,
        .finalize = finalize,
        .destroy = destroy,
        .abort = abort_comm,
        .group_start = group_start,
        .group_end = group_end,
        .all_reduce = all_reduce,
        .reduce = reduce,
        .broadcast = broadcast,
        .all_gather = all_gather,
        .reduce_scatter = reduce_scatter,
        .send = send,
        .receive = receive,
    };
}

} // namespace

const mdist_nccl_api *nccl_table(const char **reason) {
    static const mdist_nccl_api table = make_table();
    constexpr int32_t kOldest = 21800;
    if (table.version >= kOldest) return &table;
    *reason = table.version == 0 ? "libnccl.so.2 was not found" : "NCCL is too old; 2.18 or later is needed";
    return nullptr;
}

uint64_t live_comms() {
    CommunicatorTable &all = communicator_table();
    const std::lock_guard guard(all.lock);
    return all.comms.size();
}

} // namespace fake_gpu
