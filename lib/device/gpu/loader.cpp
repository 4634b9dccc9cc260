// SPDX-License-Identifier: Apache-2.0
#include "device/gpu/loader.h"

#include "util/failure.h"
#include "util/module.h"
#include "util/text.h"

#include <mdist/base.h>

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <memory>

namespace mdist {
namespace {

constexpr const char *kModuleFile = "libmdist-cuda.so";
constexpr const char *kVariable = "MDIST_CUDA_MODULE";

constexpr uint32_t version_of(uint32_t major, uint32_t minor, uint32_t patch) {
    return 10000 * major + 100 * minor + patch;
}
static_assert(version_of(MDIST_VERSION_MAJOR, MDIST_VERSION_MINOR, MDIST_VERSION_PATCH) == MDIST_VERSION);

GpuSupport none(std::string reason) {
    GpuSupport support;
    support.reason = std::move(reason);
    return support;
}

/// Why a module does not fit this library; "" if it does. Reads only the parts of its tables that were found to fit.
std::string objection(const mdist_gpu_module *module) {
    const std::string ours = text(MDIST_VERSION_MAJOR, '.', MDIST_VERSION_MINOR, '.', MDIST_VERSION_PATCH);
    if (module == nullptr) return "it does not offer an interface";
    if (module->abi != MDIST_GPU_MODULE_ABI)
        return text("its interface has version ", module->abi, ", this library's has ", MDIST_GPU_MODULE_ABI);
    if (module->size != sizeof(mdist_gpu_module))
        return text("its description has ", module->size, " bytes, this library's has ", sizeof(mdist_gpu_module));
    if (module->library_version == nullptr || module->library_version != ours)
        return text("it was built with libmdist ", module->library_version == nullptr ? "?" : module->library_version,
                    ", this is ", ours);
    if (module->gpu == nullptr) return "it has no functions";
    if (module->gpu->kind_size != sizeof(mdist_gpu_api))
        return text("its table has ", module->gpu->kind_size, " bytes, this library's has ", sizeof(mdist_gpu_api));
    return "";
}

/// Explains CUDA's errors for the case that no GPU can be used at all; CUDA's own texts are vague there.
std::string why_no_device(const mdist_gpu_api &api, int error) {
    const char *text_of = api.text(error);
    const std::string told = text(text_of == nullptr ? "" : text_of, ", ", error);
    switch (error) {
        case 34:
            return text("the only driver found is CUDA's stub, which is for linking (", told, ')');
        case 35:
            return text("there is no NVIDIA driver, or one too old for this CUDA (", told, ')');
        case 100:
            return text("the driver finds no GPU (", told, ')');
        default:
            return text("GPUs cannot be used (", told, ')');
    }
}

GpuSupport count_gpus(const mdist_gpu_module *module) {
    GpuSupport support;
    support.module = module;
    const int error = module->gpu->device_count(&support.count);
    if (error != 0) {
        support.count = 0;
        support.reason = why_no_device(*module->gpu, error);
    } else if (support.count <= 0) {
        support.count = 0;
        support.reason = "the driver finds no GPU";
    }
    return support;
}

GpuSupport load_file(const std::string &path) {
    const ModuleSymbol symbol = load_module(path, MDIST_GPU_MODULE_SYMBOL);
    if (symbol.address == nullptr) return none(symbol.why_not);
    const mdist_gpu_module *module = reinterpret_cast<mdist_gpu_module_fn>(symbol.address)();
    const std::string problem = objection(module);
    if (!problem.empty()) return none(text(path, " does not match this libmdist: ", problem));
    return count_gpus(module);
}

GpuSupport load() {
    // secure_getenv returns NULL in a process with raised privileges, whoever set the variable.
    const char *chosen = secure_getenv(kVariable);
    if (chosen != nullptr && *chosen != '\0') {
        const std::string path = chosen;
        if (path.front() != '/') return none(text(kVariable, " is \"", path, "\", which is not an absolute path"));
        if (access(path.c_str(), F_OK) != 0) return none(text(kVariable, " names ", path, ", which does not exist"));
        return load_file(path);
    }
    for (const std::string &path : module_places(kModuleFile))
        if (access(path.c_str(), F_OK) == 0) return load_file(path);
    return none(text(kModuleFile,
                     " is not beside libmdist. Either libmdist was built without CUDA, or the file is elsewhere: set ",
                     kVariable, " to its absolute path"));
}

} // namespace

// Holds no lock while files are loaded: their constructors may wait for a thread that is in here. Threads that come at
// the same time all load, with the same result. The first one to finish keeps its result for all.
const GpuSupport &gpu_support() {
    static std::atomic<const GpuSupport *> known = nullptr;
    if (const GpuSupport *support = known.load(std::memory_order_acquire)) return *support;
    auto loaded = std::make_unique<const GpuSupport>(load());
    const GpuSupport *first = nullptr;
    if (!known.compare_exchange_strong(first, loaded.get(), std::memory_order_acq_rel)) return *first;
    return *loaded.release();
}

const mdist_gpu_api &gpu_api(std::string_view what) {
    const GpuSupport &support = gpu_support();
    if (support.count == 0)
        throw Failure(MDIST_ERR_UNSUPPORTED, text(what, " needs a GPU: ", support.reason)).reason("no_gpu");
    return *support.module->gpu;
}

const mdist_nccl_api *nccl_api(std::string &reason) {
    const GpuSupport &support = gpu_support();
    if (support.count == 0) return reason = support.reason, nullptr;
    const char *why_not = nullptr;
    const mdist_nccl_api *api = support.module->nccl == nullptr ? nullptr : support.module->nccl(&why_not);
    if (api == nullptr) return reason = why_not == nullptr ? "the module has no NCCL" : why_not, nullptr;
    if (api->kind_size != sizeof(mdist_nccl_api))
        return reason = text("the module's table of NCCL has ", api->kind_size, " bytes, this library's has ",
                             sizeof(mdist_nccl_api)),
               nullptr;
    return api;
}

} // namespace mdist
