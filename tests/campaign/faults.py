# SPDX-License-Identifier: Apache-2.0
"""Thirty small faults for tests/campaign/plant, as people make them, spread over the folders of lib.

`old` must stand in `file` exactly once. If it does not, the code has changed: bring the fault up to date, so that it
breaks the same thing again. `found_by` names a test of Meson's that is known to find it.
"""
import collections

Fault = collections.namedtuple("Fault", "name file found_by breaks old new")

FAULTS = [
    # ---- util
    Fault("no-fsync", "lib/util/files.cpp", "fault_disk",
          "A file gets its name before its content is on the disk.",
          '    if (::fsync(file_.get()) != 0) throw failed("flush", folder_.path_of(temporary_), errno);\n', ""),
    Fault("short-write", "lib/util/files.cpp", "fault_disk",
          "The rest of a write that does only a part is forgotten.",
          "        bytes -= static_cast<std::size_t>(written);\n", "        bytes = 0;\n"),
    # ---- reduce
    Fault("uneven-tree", "lib/reduce/partials.cpp", "reduce_partials",
          "Workers' partial sums are added along an even tree where the true one is uneven.",
          "return split == std::bit_floor(count - 1) && Node{first, split}.as_leaves() &&\n"
          "               Node{first + split, count - split}.as_leaves();",
          "return split == std::bit_floor(count - 1);"),
    Fault("swapped-operands", "lib/reduce/operator.cpp", "operator",
          "An operator gets its right operand on the left.",
          "code_ = op_.combine(left, right, to,", "code_ = op_.combine(right, left, to,"),
    # ---- device
    Fault("lost-offset", "lib/device/transfer/dlpack.cpp", "dlpack",
          "byte_offset of a DLPack tensor is ignored.",
          "return static_cast<char *>(described.data) + described.byte_offset;", "return described.data;"),
    # ---- cluster
    Fault("store-owner", "lib/cluster/resolve.cpp", "cluster_resolve",
          "Worker 0 serves a store beside the launcher's own.",
          'resolved.serves_store = is_first && owner != "launcher";', "resolved.serves_store = is_first;"),
    # ---- membership
    Fault("stale-go", "lib/membership/worker/member.cpp", "membership_strangers",
          "GO of an earlier session starts a worker.",
          "if (asking_ && mesh_ && frame.session == next_.session) go();", "if (asking_ && mesh_) go();"),
    Fault("stale-mesh", "lib/membership/store/store.cpp", "membership_elastic",
          "A report about a generation that was replaced counts for the present one.",
          "if (state_ != State::kMeshing || frame.session != generation_.session) return;",
          "if (state_ != State::kMeshing) return;"),
    # ---- comm
    Fault("wrapped-lengths", "lib/comm/plan/lengths.cpp", "plan",
          "Lengths from the wire whose sum wraps around are believed.",
          "for (std::size_t b = 0; b < buffers && width == 2; ++b) {",
          "for (std::size_t b = 1; b < buffers && width == 2; ++b) {"),
    Fault("forgotten-root", "lib/comm/schedules/broadcast.cpp", "schedule",
          "Relays of a broadcast are counted from host 0, not from the root's.",
          "(first + 1 + chunk % (hosts - 1)) % hosts", "(1 + chunk % (hosts - 1)) % hosts"),
    Fault("arena-bounds", "lib/comm/shm/mates.cpp", "shm_arena",
          "A mate's place in the arena is believed without a look at its length.",
          "if (offset < layout_->arena() || offset > end || bytes > end - offset) return nullptr;",
          "if (offset < layout_->arena() || offset > end) return nullptr;"),
    Fault("frame-length", "lib/comm/links/tcp_stream.cpp", "link_tcp",
          "A message of another length than the receive's is taken for it.",
          "if (frame.tag != wanted.tag || frame.bytes != wanted.bytes)", "if (frame.tag != wanted.tag)"),
    Fault("kept-rounds", "lib/comm/local/group_end.cpp", "gradients_refusals",
          "Rounds that were added up before a failed run are added to those behind it.",
          "    failed_runs_.fetch_add(1, std::memory_order_relaxed);\n", ""),
    Fault("lost-credit", "lib/comm/mail/mail.cpp", "message",
          "After sixteen small messages, sends wait for their receives.",
          "        ++pair(key.from, key.to).may_send;\n        return;", "        return;"),
    Fault("wild-data", "lib/comm/workers/parts.cpp", "multi_lies",
          "Bytes that a worker sends along with its lengths are used whatever these say.",
          "if (come != due && (must || come != table))", "if (come < table && (must || come != due))"),
    Fault("unnoticed-end", "lib/comm/operation_queue.cpp", "work_on_done",
          "A function set on a work that has ended unnoticed is not called.",
          "    hand_on(); // it may have ended without anybody noticing\n", ""),
    Fault("root-bound", "lib/comm/call/check.cpp", "collective_refusals",
          "A root one beyond the last replica is accepted.",
          "call.root >= parties)", "call.root > parties)"),
    # ---- data
    Fault("left-over", "lib/data/transforms/shuffle.cpp", "data_transforms",
          "A shuffle that begins again still has elements of the epoch before.",
          "        filled_ = 0;\n        drained_ = false;", "        drained_ = false;"),
    Fault("record-length", "lib/data/files/input.cpp", "data_hostile",
          "Memory is allocated for a length in a file that the file cannot hold.",
          "        if (known && bytes > *known) return {};\n", ""),
    Fault("step-rows", "lib/data/distribute/slices.cpp", "multi_input",
          "The rows of a step are told in the order of the slices, not of the replicas.",
          "step_rows[slicing.replicas[i]] = all[i];", "step_rows[i] = all[i];"),
    # ---- strategy
    Fault("lost-operator", "lib/comm/packs.cpp", "operator",
          "Packs forget the program's operator.",
          "            part.subject = subject;\n", "            part.subject = subject;\n            part.by = nullptr;\n"),
    Fault("cached-read", "lib/strategy/variables/store.cpp", "cached_reads",
          "A new variable of the name of a destroyed one reads what was cached for that.",
          "    variables_.erase(name);\n    cached_reads_.erase(name);\n", "    variables_.erase(name);\n"),
    Fault("clip-at-double", "lib/strategy/gradients/finish.cpp", "gradients",
          "Only norms of more than twice the limit are clipped.",
          "outcome.norm <= options.clip_norm) return;", "outcome.norm <= 2 * options.clip_norm) return;"),
    Fault("last-decides", "lib/strategy/steps/loop.cpp", "multi_loop",
          "Only the last worker decides whether a loop goes on.",
          "all_have = all_have && all[worker][0] != 0;", "all_have = all[worker][0] != 0;"),
    Fault("lost-errno", "lib/strategy/job/consensus.cpp", "multi_checkpoint",
          "errno of another worker's failure is lost.",
          ".reason(reason).native(native).worker(worker)", ".reason(reason).worker(worker)"),
    Fault("whole-steps", "lib/strategy/input/distribute.cpp", "input",
          "A last step in which some replicas have nothing takes place though it is to be dropped.",
          "deal.partial = !mine.whole_steps;", "deal.partial = true;"),
    Fault("first-position", "lib/strategy/elastic/elastic.cpp", "multi_elastic",
          "The first commit has the input where it is, not where it began.",
          "            state.taken = 0;\n", ""),
    Fault("dropped-twice", "lib/strategy/serve/session.cpp", "multi_in_graph",
          "Workers drop a variable again that a client has made with the name of one it dropped.",
          "        dropped_.clear(); // the command has them now\n", ""),
    # ---- checkpoint
    Fault("replaced-lost", "lib/checkpoint/folder.cpp", "fault_disk",
          "A failed save removes the checkpoint that it was to replace.",
          "        if (!replaces) folder_.remove(name_of(number));", "        folder_.remove(name_of(number));"),
    # ---- api
    Fault("stale-handle", "lib/api/handle.cpp", "handle",
          "A handle of an object that is gone finds the object that has its slot now.",
          "const bool same = generation_of(state) == id.generation();",
          "const bool same = generation_of(state) >= id.generation();"),
]
