// SPDX-License-Identifier: Apache-2.0
// Datasets of file names, which are given or found by patterns.
#include "data/sources.h"
#include "util/crc32c.h"
#include "util/failure.h"
#include "util/text.h"
#include "util/utf8.h"

#include <glob.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <string_view>
#include <system_error>
#include <utility>

namespace mdist {
namespace {

class Files final : public Streamed<Files, class FilesStream, Dataset> {
  public:
    explicit Files(std::vector<Element> names)
        : Streamed({name_spec()}), names_(std::move(names)), identity_(identity_of(names_)) {}

    Traits traits() const override { return {.text = text("files(", names_.size(), ")"), .identity = identity_}; }
    std::optional<uint64_t> size() const override { return names_.size(); }
    bool borrows() const override { return false; }
    const std::vector<Element> &names() const { return names_; }

  private:
    static std::string identity_of(const std::vector<Element> &names);
    static Spec name_spec() {
        Spec spec;
        spec.dtype = MDIST_UINT8;
        spec.shape = Shape().with_first(Spec::kUnknown);
        return spec;
    }

    std::vector<Element> names_;
    std::string identity_;
};

class FilesStream final : public Stream {
  public:
    FilesStream(std::shared_ptr<const Files> dataset, const Iteration &iteration)
        : Stream(iteration), dataset_(std::move(dataset)) {}

  private:
    bool produce(Element &out) override {
        if (next_ == dataset_->names().size()) return false;
        out = dataset_->names()[next_++];
        return true;
    }
    uint64_t leap(uint64_t count, Element &) override {
        const uint64_t done = std::min<uint64_t>(count, dataset_->names().size() - next_);
        next_ += static_cast<std::size_t>(done);
        return done;
    }
    void rewind() override { next_ = 0; }

    std::shared_ptr<const Files> dataset_;
    std::size_t next_ = 0;
};

/// Identifies the files by their names and order. The folders do not count.
std::string Files::identity_of(const std::vector<Element> &names) {
    uint32_t crc = 0;
    for (const Element &name : names) {
        std::string_view path(name.data(0), name.bytes(0));
        path.remove_prefix(path.rfind('/') + 1); // npos + 1 is 0
        crc = crc32c(path.data(), path.size(), crc32c("/", 1, crc));
    }
    return text("files(", names.size(), ", ", crc, ")");
}

Element name_element(const std::string &path) {
    Tensor name = Tensor::allocate(*host(), MDIST_UINT8, Shape().with_first(path.size()));
    std::memcpy(name.data(), path.data(), path.size());
    return Element(std::move(name));
}

struct Matches {
    glob_t found = {};
    ~Matches() { globfree(&found); }
};

void match(const std::string &pattern, std::vector<std::string> &paths) {
    Matches matches;
    // The names are sorted later, by bytes: the system would sort by the locale. A folder that may not be read is an
    // error.
    const int result = glob(pattern.c_str(), GLOB_NOSORT | GLOB_ERR, nullptr, &matches.found);
    const int code = errno;
    const bool no_folder = result == GLOB_ABORTED && (code == ENOENT || code == ENOTDIR);
    if (result == GLOB_NOMATCH || no_folder) return;
    if (result == GLOB_NOSPACE) throw std::bad_alloc();
    if (result != 0) {
        throw Failure(MDIST_ERR_IO, text("cannot search for files that match ", in_quotes(pattern), ": ",
                                         std::generic_category().message(code)))
            .reason(code == EACCES || code == EPERM ? "permission" : "")
            .native(code);
    }
    paths.insert(paths.end(), matches.found.gl_pathv, matches.found.gl_pathv + matches.found.gl_pathc);
}

} // namespace

std::shared_ptr<Dataset> make_files(const std::vector<std::string> &paths) {
    std::vector<Element> names;
    names.reserve(paths.size());
    for (const std::string &path : paths) names.push_back(name_element(path));
    return std::make_shared<Files>(std::move(names));
}

std::vector<std::string> match_files(const std::vector<std::string> &patterns) {
    std::vector<std::string> paths;
    for (const std::string &pattern : patterns) match(pattern, paths);
    if (paths.empty())
        throw Failure(MDIST_ERR_NOT_FOUND,
                      patterns.empty() ? "no pattern was given; pass at least one"
                                       : text("no file matches ", in_quotes(patterns[0]),
                                              patterns.size() > 1
                                                  ? text(", nor any of the ", patterns.size() - 1, " patterns after it")
                                                  : ""));
    std::sort(paths.begin(), paths.end());
    return paths;
}

} // namespace mdist
