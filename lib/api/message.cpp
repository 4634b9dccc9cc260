// SPDX-License-Identifier: Apache-2.0
#include "api/replica_guard.h"
#include "api/work.h"
#include "comm/device/gpu_group.h"
#include "comm/mail/parcel.h"
#include "device/transfer/transfer.h"
#include "util/dtype.h"
#include "util/text.h"

#include <mdist/message.h>

using namespace mdist;

namespace {

/// A started message behind a work handle.
class StartedMessage final : public Work {
  public:
    StartedMessage(std::shared_ptr<Job> job, std::shared_ptr<Parcel> parcel)
        : job_(std::move(job)),
          mail_(job_->comm.shared_mail()),
          parcel_(std::move(parcel)),
          generation_(job_->elastic.generation()) {}
    void settle() noexcept override {
        try {
            if (in_done_call()) return Parcel::leave(parcel_); // it goes on, as a collective does
            parcel_->settle(work_destroyed(parcel_->post().function(), parcel_->post().self()));
        } catch (const std::bad_alloc &) {
            parcel_->settle(out_of_memory());
        }
    }
    bool test() override { return parcel().test(); }
    bool wait(uint64_t timeout_ns) override { return parcel().wait(timeout_ns); }
    int descriptor() override { return parcel().descriptor(); }
    void on_done(mdist_work_done_fn done, void *user_data) override {
        parcel().when_over(done_call(*job_, parcel_->post().self(), done, user_data));
    }

  private:
    Parcel &parcel() const {
        job_->elastic.require_generation(generation_, "the work");
        return *parcel_;
    }

    std::shared_ptr<Job> job_;
    std::shared_ptr<Mail> mail_; // the post belongs to it, also when the job has another one
    std::shared_ptr<Parcel> parcel_;
    const uint32_t generation_;
};

void check_message(const mdist_buffer_t &buffer, const Replica &self, uint32_t other, const char *which) {
    check_dtype(buffer.dtype, "buffer");
    need_zero(buffer.reserved, "buffer.reserved");
    if (buffer.elements > PTRDIFF_MAX / dtype_size(buffer.dtype))
        throw invalid(text("buffer has ", buffer.elements, " elements, more than memory can hold"));
    if (buffer.data == nullptr && buffer.elements != 0)
        throw invalid(text("buffer has ", buffer.elements, " elements and data NULL"));
    const uint32_t replicas = self.job().replicas.count();
    if (other >= replicas) throw invalid(text(which, " is ", other, "; the replicas are 0 to ", replicas - 1));
}

/// The replica's GPU if the buffer lies there; nullptr if it lies on the host.
Gpu *gpu_with(const Replica &self, const mdist_buffer_t &buffer) {
    const int32_t gpu = buffer.elements == 0 ? -1 : gpu_of(buffer.data);
    if (gpu < 0) return nullptr;
    Gpu *const own = self.device().gpu();
    if (own == nullptr || own->index() != gpu)
        throw invalid(text("buffer lies on gpu:", gpu, ", but replica ", self.id(), " is on ", self.device().name(),
                           ". Pass memory of that device, or of the host"));
    return own;
}

/// Checks the arguments, and calls `body(Replica &, std::unique_ptr<Parcel>)`.
template <class Body>
mdist_status_t message_guard(const char *function, bool sends, mdist_replica_t *replica, uint32_t other, uint64_t tag,
                             const mdist_buffer_t *buffer, const mdist_call_options_t *options, mdist_error_t **error,
                             Body &&body) {
    return replica_guard(function, replica, Others::kWait, error, [&](Replica &self) {
        need(buffer, "buffer");
        need_no_packs(options);
        need_no_group_in_message(options);
        const uint64_t timeout_ns = timeout_of(self.job(), options);
        self.require_concurrent(function);
        if (Gpu *const gpu = self.device().gpu()) gpu->replica_stream().require_running(function);
        check_message(*buffer, self, other, sends ? "to" : "from");
        const MailKey key = {sends ? self.id() : other, sends ? other : self.id(), tag, self.run->number};
        body(self, gpu_with(self, *buffer), key, timeout_ns != 0 ? timeout_ns : self.job().comm.group().timeout());
    });
}

mdist_status_t call(const char *function, bool sends, mdist_replica_t *replica, uint32_t other, uint64_t tag,
                    const mdist_buffer_t *buffer, const mdist_call_options_t *options, mdist_error_t **error) {
    return message_guard(
        function, sends, replica, other, tag, buffer, options, error,
        [&](Replica &self, Gpu *gpu, const MailKey &key, uint64_t timeout_ns) {
            Parcel(self.job().comm.mail(), gpu, sends, self.local_index(), key, *buffer, timeout_ns, false).call();
        });
}

mdist_status_t start(const char *function, bool sends, mdist_replica_t *replica, uint32_t other, uint64_t tag,
                     const mdist_buffer_t *buffer, mdist_work_t **out, const mdist_call_options_t *options,
                     mdist_error_t **error) {
    return message_guard(function, sends, replica, other, tag, buffer, options, error,
                         [&](Replica &self, Gpu *gpu, const MailKey &key, uint64_t timeout_ns) {
                             need(out, "out");
                             Job &job = self.job();
                             const auto parcel = std::make_shared<Parcel>(
                                 job.comm.mail(), gpu, sends, self.local_index(), key, *buffer, timeout_ns, true);
                             const auto work = std::make_shared<StartedMessage>(job.shared_from_this(), parcel);
                             parcel->start();
                             try {
                                 *out = publish<mdist_work_t>(std::shared_ptr<Work>(work));
                             } catch (...) {
                                 work->settle();
                                 throw;
                             }
                         });
}

} // namespace

mdist_status_t mdist_send(mdist_replica_t *replica, uint32_t to, uint64_t tag, const mdist_buffer_t *buffer,
                          const mdist_call_options_t *options, mdist_error_t **error) {
    return call("mdist_send", true, replica, to, tag, buffer, options, error);
}

mdist_status_t mdist_receive(mdist_replica_t *replica, uint32_t from, uint64_t tag, const mdist_buffer_t *buffer,
                             const mdist_call_options_t *options, mdist_error_t **error) {
    return call("mdist_receive", false, replica, from, tag, buffer, options, error);
}

mdist_status_t mdist_send_start(mdist_replica_t *replica, uint32_t to, uint64_t tag, const mdist_buffer_t *buffer,
                                mdist_work_t **out, const mdist_call_options_t *options, mdist_error_t **error) {
    return start("mdist_send_start", true, replica, to, tag, buffer, out, options, error);
}

mdist_status_t mdist_receive_start(mdist_replica_t *replica, uint32_t from, uint64_t tag, const mdist_buffer_t *buffer,
                                   mdist_work_t **out, const mdist_call_options_t *options, mdist_error_t **error) {
    return start("mdist_receive_start", false, replica, from, tag, buffer, out, options, error);
}
