// SPDX-License-Identifier: Apache-2.0
// TcpStream: one end of a connection of the TCP link, with the messages that wait to be written and to be read. Never
// waits. One thread at a time.
#pragma once

#include "comm/links/link.h"
#include "util/open_file.h"
#include "util/failure.h"

#include <deque>
#include <memory>

namespace mdist {

class TcpStream {
  public:
    /// `checksums`: every message carries two checksums, and the other end checks them. `drops`: what is sent to a peer
    /// that is gone is dropped, and counts as sent.
    TcpStream(uint32_t peer, bool checksums, bool drops) : peer_(peer), checksums_(checksums), drops_(drops) {}

    /// What is posted before waits for the socket. Throws bad_alloc.
    void open(OpenFile socket);
    /// There will be no socket: the peer has left.
    void give_up() { lose(0); }

    void send(uint64_t tag, const void *data, std::size_t bytes, Pending &pending);
    void receive(uint64_t tag, void *data, std::size_t bytes, Pending &pending);

    /// These write what the socket takes now, and read what it has for the posted receives. They make no system call if
    /// that is known to be nothing.
    void write();
    void read();
    /// As in Link.
    uint64_t moved() const { return moved_ + sent_ / Link::kChunk + received_ / Link::kChunk; }
    /// Throws PEER_LOST if something is posted and the peer is gone.
    void check() const;
    /// Ends the connection for the peer and forgets what is posted. The socket stays reserved until this object is
    /// destroyed.
    void shut_down() noexcept;

    int socket() const { return socket_.get(); }
    /// The poll events to wait for: set if write() last found the socket full, or read() found it empty. None while
    /// those two have something to try.
    short waits_for() const;
    bool has_to_try() const { return socket_.is_open() && ((writes() && !full_) || (reads() && !empty_)); }
    /// Takes the events that poll() found.
    void found(short events);

  private:
    struct Frame {
        uint64_t tag;
        uint64_t bytes;
        uint32_t data_sum = 0; // CRC-32C of the bytes
        uint32_t own_sum = 0;  // and of the frame up to here
    };
    struct Send {
        Frame frame;
        const char *data;
        Pending *pending;
    };
    struct Receive {
        Frame frame;
        char *data;
        Pending *pending;
    };

    bool writes() const { return !sends_.empty() && !gone_; }
    void drop_sends();
    bool reads() const { return !receives_.empty() && !gone_; }
    void written(std::size_t bytes);
    void take_buffered();
    bool begin_message();
    void finish_message();
    static uint32_t sum_of(const Frame &frame);
    [[noreturn]] void throw_changed(const char *what) const;
    void lose(int error);

    OpenFile socket_; // not open yet
    const uint32_t peer_;
    const bool checksums_;
    const bool drops_;
    bool dropping_ = false; // the peer takes nothing any more; what it gave before may still be there
    std::deque<Send> sends_;
    std::size_t sent_ = 0; // bytes of the first send, frame included
    bool full_ = false;    // the socket took less than it was given, and has not been reported writable since

    std::deque<Receive> receives_;
    bool in_message_ = false; // the first receive's frame has come; received_ bytes of it are here
    std::size_t received_ = 0;
    uint32_t announced_sum_ = 0;     // of that message's bytes
    std::unique_ptr<char[]> buffer_; // bytes read and not taken yet: [begin_, end_)
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
    bool empty_ = false; // the socket gave less than it might have, and has not been reported readable since

    uint64_t moved_ = 0; // chunks of messages that are through, each one's end among them
    bool gone_ = false;
    int error_ = 0; // 0: closed in order
};

} // namespace mdist
