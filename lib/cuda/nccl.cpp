// SPDX-License-Identifier: Apache-2.0
// NCCL behind the module's table. The library is opened by its soname when it is first asked for. At that point only
// its version function is called, so looking for NCCL opens no socket and starts no thread.
//
// Communicators are non-blocking. Until one is ready, NCCL keeps the address that it was given for it. So each
// communicator is in an object of its own, which destroy() and abort() free.
#include "cuda/driver.h"
#include "cuda/tables.h"

#if __has_include(<nccl.h>)
#include <dlfcn.h>
#include <mdist/collective.h>
#include <nccl.h>

#include <cstring>
#include <new>
#include <string>

struct mdist_gpu_comm {
    ncclComm_t comm;
    int32_t device;
};

namespace mdist::cuda {
namespace {

constexpr int kOldest = 21800;

// Called through a table of addresses, because nothing links NCCL.
#define MDIST_NCCL_FUNCTIONS(f)                                                                                   \
    f(ncclGetVersion) f(ncclGetErrorString) f(ncclGetLastError) f(ncclGetUniqueId) f(ncclCommInitRankConfig)      \
        f(ncclCommGetAsyncError) f(ncclCommFinalize) f(ncclCommDestroy) f(ncclCommAbort) f(ncclGroupStart)        \
            f(ncclGroupEnd) f(ncclAllReduce) f(ncclReduce) f(ncclBroadcast) f(ncclAllGather) f(ncclReduceScatter) \
                f(ncclSend) f(ncclRecv)

struct Functions {
#define MDIST_DECLARE(name) decltype(&::name) name = nullptr;
    MDIST_NCCL_FUNCTIONS(MDIST_DECLARE)
#undef MDIST_DECLARE
    int version = 0;
    std::string reason; // why the functions are missing; "" if they are there
};

Functions load() {
    Functions all;
    void *library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        const char *text = dlerror();
        all.reason = std::string("NCCL is not installed (") + (text != nullptr ? text : "libnccl.so.2") + ")";
        return all;
    }
    const char *missing = nullptr;
#define MDIST_FIND(name)                                                   \
    all.name = reinterpret_cast<decltype(&::name)>(dlsym(library, #name)); \
    if (all.name == nullptr && missing == nullptr) missing = #name;
    MDIST_NCCL_FUNCTIONS(MDIST_FIND)
#undef MDIST_FIND
    if (all.ncclGetVersion != nullptr && all.ncclGetVersion(&all.version) != ncclSuccess) all.version = 0;
    if (all.version < kOldest)
        all.reason = "NCCL " + std::to_string(all.version) + " is too old: at least 2.18 (" + std::to_string(kOldest) +
                     ") is needed";
    else if (missing != nullptr)
        all.reason = std::string("NCCL lacks ") + missing;
    return all;
}

const Functions &functions() {
    static const Functions &all = *new Functions(load());
    return all;
}

constexpr int kNone = -1; // NCCL has none

/// NCCL's type for elements that are added, by mdist_dtype_t.
constexpr int kTypes[] = {kNone,     ncclFloat32, ncclFloat64, ncclFloat16, ncclBfloat16, ncclInt8, ncclUint8,
                          ncclInt32, ncclUint32,  ncclInt64,   ncclUint64,  kNone,        kNone,    kNone};
/// The same for elements that only move: others of their size stand for 16-bit integers and bool.
constexpr int kMovedTypes[] = {kNone,     ncclFloat32, ncclFloat64, ncclFloat16, ncclBfloat16, ncclInt8,    ncclUint8,
                               ncclInt32, ncclUint32,  ncclInt64,   ncclUint64,  ncclFloat16,  ncclFloat16, ncclUint8};
/// By mdist_reduce_op_t.
constexpr int kOps[] = {kNone, ncclSum, kNone, ncclMin, ncclMax, ncclProd};
static_assert(MDIST_FLOAT32 == 1 && MDIST_UINT64 == 10 && MDIST_INT16 == 11 && MDIST_UINT16 == 12 && MDIST_BOOL == 13);
static_assert(MDIST_SUM == 1 && MDIST_MIN == 3 && MDIST_MAX == 4 && MDIST_PROD == 5);

template <size_t kCount>
int at(const int (&table)[kCount], int32_t number) {
    return number >= 0 && static_cast<size_t>(number) < kCount ? table[number] : kNone;
}

/// Calls f() with the communicator's device current.
template <typename Function>
int with(const mdist_gpu_comm *comm, Function f) {
    const OnDevice on(comm->device);
    return on.error() != 0 ? ncclUnhandledCudaError : f();
}

/// Calls f(type, op, communicator) for a call that adds up.
template <typename Function>
int summing(const mdist_gpu_comm *comm, int32_t dtype, int32_t op, Function f) {
    const int type = at(kTypes, dtype), operation = at(kOps, op);
    if (type == kNone || operation == kNone) return ncclInvalidArgument;
    return with(comm,
                [&] { return f(static_cast<ncclDataType_t>(type), static_cast<ncclRedOp_t>(operation), comm->comm); });
}

/// Calls f(type, communicator) for a call that moves elements.
template <typename Function>
int moving(const mdist_gpu_comm *comm, int32_t dtype, Function f) {
    const int type = at(kMovedTypes, dtype);
    if (type == kNone) return ncclInvalidArgument;
    return with(comm, [&] { return f(static_cast<ncclDataType_t>(type), comm->comm); });
}

int kind(int error) {
    switch (error) {
        case ncclSuccess:
            return MDIST_GPU_OK;
        case ncclInProgress:
            return MDIST_GPU_NOT_READY;
        case ncclInvalidArgument:
            return MDIST_GPU_INVALID;
        default:
            return MDIST_GPU_FAILED;
    }
}

const char *text(int error) {
    return functions().ncclGetErrorString(static_cast<ncclResult_t>(error));
}

const char *last_error(mdist_gpu_comm *comm) {
    const char *said = functions().ncclGetLastError(comm != nullptr ? comm->comm : nullptr);
    return said != nullptr ? said : "";
}

int unique_id(unsigned char id[MDIST_GPU_ID_BYTES]) {
    static_assert(sizeof(ncclUniqueId) == MDIST_GPU_ID_BYTES);
    ncclUniqueId made = {};
    const int error = functions().ncclGetUniqueId(&made);
    std::memcpy(id, &made, sizeof made);
    return error;
}

int init(mdist_gpu_comm **comm, int32_t device, int32_t ranks, int32_t rank,
         const unsigned char id[MDIST_GPU_ID_BYTES]) {
    *comm = nullptr;
    auto *const made = new (std::nothrow) mdist_gpu_comm{nullptr, device};
    if (made == nullptr) return ncclSystemError;
    ncclUniqueId shared;
    std::memcpy(&shared, id, sizeof shared);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    const int error =
        with(made, [&] { return functions().ncclCommInitRankConfig(&made->comm, ranks, shared, rank, &config); });
    if (error != ncclSuccess && error != ncclInProgress) {
        if (made->comm != nullptr) functions().ncclCommAbort(made->comm);
        delete made;
        return error;
    }
    *comm = made;
    return error;
}

int async_error(mdist_gpu_comm *comm, int *error) {
    ncclResult_t found = ncclSuccess;
    const int result = functions().ncclCommGetAsyncError(comm->comm, &found);
    *error = found;
    return result;
}

int finalize(mdist_gpu_comm *comm) {
    return with(comm, [&] { return functions().ncclCommFinalize(comm->comm); });
}

int destroy(mdist_gpu_comm *comm) {
    const int error = with(comm, [&] { return functions().ncclCommDestroy(comm->comm); });
    delete comm;
    return error;
}

int abort(mdist_gpu_comm *comm) {
    const int error = with(comm, [&] { return functions().ncclCommAbort(comm->comm); });
    delete comm;
    return error;
}

// NCCL restores the device that it finds. If there was none, that would create a context on device 0.
int group_start() {
    const OnDevice on(-1);
    return functions().ncclGroupStart();
}

int group_end() {
    const OnDevice on(-1);
    return functions().ncclGroupEnd();
}

int all_reduce(mdist_gpu_comm *comm, const void *from, void *to, uint64_t elements, int32_t dtype, int32_t op,
               mdist_gpu_stream *stream) {
    return summing(comm, dtype, op, [&](ncclDataType_t type, ncclRedOp_t operation, ncclComm_t with_all) {
        return functions().ncclAllReduce(from, to, elements, type, operation, with_all, of(stream));
    });
}

int reduce(mdist_gpu_comm *comm, const void *from, void *to, uint64_t elements, int32_t dtype, int32_t op, int32_t root,
           mdist_gpu_stream *stream) {
    return summing(comm, dtype, op, [&](ncclDataType_t type, ncclRedOp_t operation, ncclComm_t with_all) {
        return functions().ncclReduce(from, to, elements, type, operation, root, with_all, of(stream));
    });
}

int reduce_scatter(mdist_gpu_comm *comm, const void *from, void *to, uint64_t elements_each, int32_t dtype, int32_t op,
                   mdist_gpu_stream *stream) {
    return summing(comm, dtype, op, [&](ncclDataType_t type, ncclRedOp_t operation, ncclComm_t with_all) {
        return functions().ncclReduceScatter(from, to, elements_each, type, operation, with_all, of(stream));
    });
}

int broadcast(mdist_gpu_comm *comm, const void *from, void *to, uint64_t elements, int32_t dtype, int32_t root,
              mdist_gpu_stream *stream) {
    return moving(comm, dtype, [&](ncclDataType_t type, ncclComm_t with_all) {
        return functions().ncclBroadcast(from, to, elements, type, root, with_all, of(stream));
    });
}

int all_gather(mdist_gpu_comm *comm, const void *from, void *to, uint64_t elements_each, int32_t dtype,
               mdist_gpu_stream *stream) {
    return moving(comm, dtype, [&](ncclDataType_t type, ncclComm_t with_all) {
        return functions().ncclAllGather(from, to, elements_each, type, with_all, of(stream));
    });
}

int send(mdist_gpu_comm *comm, const void *from, uint64_t elements, int32_t dtype, int32_t peer,
         mdist_gpu_stream *stream) {
    return moving(comm, dtype, [&](ncclDataType_t type, ncclComm_t with_all) {
        return functions().ncclSend(from, elements, type, peer, with_all, of(stream));
    });
}

int receive(mdist_gpu_comm *comm, void *to, uint64_t elements, int32_t dtype, int32_t peer, mdist_gpu_stream *stream) {
    return moving(comm, dtype, [&](ncclDataType_t type, ncclComm_t with_all) {
        return functions().ncclRecv(to, elements, type, peer, with_all, of(stream));
    });
}

mdist_nccl_api make_api() {
    mdist_nccl_api api = {};
    api.kind_size = sizeof api;
    api.version = functions().version;
    api.kind = kind;
    api.text = text;
    api.last_error = last_error;
    api.unique_id = unique_id;
    api.init = init;
    api.async_error = async_error;
    api.finalize = finalize;
    api.destroy = destroy;
    api.abort = abort;
    api.group_start = group_start;
    api.group_end = group_end;
    api.all_reduce = all_reduce;
    api.reduce = reduce;
    api.broadcast = broadcast;
    api.all_gather = all_gather;
    api.reduce_scatter = reduce_scatter;
    api.send = send;
    api.receive = receive;
    return api;
}

} // namespace

const mdist_nccl_api *nccl(const char **reason) {
    try {
        *reason = functions().reason.c_str();
        if (!functions().reason.empty()) return nullptr;
        static const mdist_nccl_api api = make_api();
        return &api;
    } catch (...) {
        *reason = "out of memory while loading NCCL";
        return nullptr;
    }
}

} // namespace mdist::cuda

#else

const mdist_nccl_api *mdist::cuda::nccl(const char **reason) {
    *reason = "the module was built without nccl.h";
    return nullptr;
}

#endif
