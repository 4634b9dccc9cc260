// SPDX-License-Identifier: Apache-2.0
// Mpi: whatever MPI this machine has, loaded when asked for. Its library is called by the ABI that it has: Open MPI's,
// or that of MPICH, which Intel MPI and MVAPICH share. No compiler and no headers are needed. One for each process,
// main thread.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace mdist {

class Mpi {
  public:
    virtual ~Mpi() = default;
    virtual std::string version() const = 0; // one line
    virtual uint32_t rank() const = 0;
    virtual uint32_t size() const = 0;
    /// Sums floats over all ranks, in place. MPI itself ends the process if it fails.
    virtual void all_reduce(float *data, std::size_t elements) = 0;
    /// Waits for the other ranks, and ends MPI. Not after a failure: they may wait in a sum, and nothing has a
    /// deadline. A process that ends without it makes MPI's launcher end the others.
    virtual void finish() = 0;
};

/// Loads and starts it: `library` is a file's path, or "mpi" for the one that the launcher's variables speak of. It
/// must come before anything else that joins the job by PMI. Throws std::runtime_error.
std::unique_ptr<Mpi> start_mpi(const std::string &library);

} // namespace mdist
