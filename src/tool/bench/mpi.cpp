// SPDX-License-Identifier: Apache-2.0
#include "bench/mpi.h"

#include <dlfcn.h>
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <vector>

namespace mdist {
namespace {

using Handle = void *;

void *open_one_of(const std::vector<std::string> &files) {
    std::string reasons;
    for (const std::string &file : files) {
        // Open MPI's modules look up its functions in the process.
        if (void *library = dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL)) return library;
        const char *reason = dlerror();
        reasons += std::string(reasons.empty() ? "" : "; ") + (reason == nullptr ? file : reason);
    }
    throw std::runtime_error("no MPI could be loaded (" + reasons +
                             "). Install one where all workers find it, or give its library: --beside /path/libmpi.so");
}

/// The names that Open MPI, then MPICH and its kin, give their libraries; those of the launcher first.
std::vector<std::string> usual_files() {
    std::vector<std::string> open_mpi = {"libmpi.so.40", "libmpi.so.80"};
    std::vector<std::string> mpich = {"libmpi.so.12", "libmpich.so.12"};
    if (std::getenv("OMPI_COMM_WORLD_SIZE") == nullptr) open_mpi.swap(mpich);
    open_mpi.insert(open_mpi.end(), mpich.begin(), mpich.end());
    open_mpi.emplace_back("libmpi.so");
    return open_mpi;
}

/// `Id` is what MPI_Comm and its like are: addresses with Open MPI, numbers with MPICH.
template <class Id>
class Loaded : public Mpi {
  public:
    struct Constants {
        Id world, floats, sum;
        void *in_place;
    };

    Loaded(void *library, const Constants &constants) : library_(library), constants_(constants) {
        find(all_reduce_, "MPI_Allreduce");
        int (*init)(int *, char ***, int, int *) = nullptr;
        int (*get_rank)(Id, int *) = nullptr;
        int (*get_size)(Id, int *) = nullptr;
        int (*get_version)(char *, int *) = nullptr;
        find(init, "MPI_Init_thread");
        find(get_rank, "MPI_Comm_rank");
        find(get_size, "MPI_Comm_size");
        find(get_version, "MPI_Get_library_version");
        find(finalize_, "MPI_Finalize");
        constexpr int kSerialized = 2; // libmdist's threads call nothing of MPI
        int provided = 0;
        if (init(nullptr, nullptr, kSerialized, &provided) != 0) throw std::runtime_error("MPI_Init_thread failed");
        get_rank(constants_.world, &rank_);
        get_size(constants_.world, &size_);
        std::vector<char> text(1 << 13);
        int length = 0;
        get_version(text.data(), &length);
        version_.assign(text.data());
        std::replace(version_.begin(), version_.end(), '\t', ' ');
        version_.resize(std::min(version_.find_first_of("\n,"), version_.size()));
    }

    std::string version() const override { return version_; }
    uint32_t rank() const override { return static_cast<uint32_t>(rank_); }
    uint32_t size() const override { return static_cast<uint32_t>(size_); }
    void all_reduce(float *data, std::size_t elements) override {
        all_reduce_(constants_.in_place, data, static_cast<int>(elements), constants_.floats, constants_.sum,
                    constants_.world);
    }
    void finish() override { finalize_(); }

  private:
    template <class Function>
    void find(Function &function, const char *name) const {
        function = reinterpret_cast<Function>(dlsym(library_, name));
        if (function == nullptr) throw std::runtime_error(std::string("the MPI that was loaded has no ") + name);
    }

    void *library_;
    Constants constants_;
    int (*all_reduce_)(const void *, void *, int, Id, Id, Id) = nullptr;
    int (*finalize_)() = nullptr;
    int rank_ = 0;
    int size_ = 1;
    std::string version_;
};

} // namespace

std::unique_ptr<Mpi> start_mpi(const std::string &library) {
    void *loaded = open_one_of(library == "mpi" ? usual_files() : std::vector{library});
    if (Handle world = dlsym(loaded, "ompi_mpi_comm_world"))
        return std::make_unique<Loaded<Handle>>(
            loaded, Loaded<Handle>::Constants{world, dlsym(loaded, "ompi_mpi_float"), dlsym(loaded, "ompi_mpi_op_sum"),
                                              reinterpret_cast<void *>(1)});
    return std::make_unique<Loaded<int>>(
        loaded, Loaded<int>::Constants{0x44000000, 0x4c00040a, 0x58000003, reinterpret_cast<void *>(-1)});
}

} // namespace mdist
