// SPDX-License-Identifier: Apache-2.0
// A fixed piece of work for a compiler: compile_time gives the library's time as a multiple of this file's, which hardly
// depends on the machine. It uses what the library uses most: strings, vectors, maps, owners, functions. It never
// changes, since ratios of before and after could not be compared otherwise.
#include <algorithm>
#include <atomic>
#include <charconv>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

namespace {

/// Each number makes types of its own, so that nothing is instantiated only once.
template <int number>
struct Item {
    std::string name;
    std::vector<double> values;
    std::optional<std::string> note;
    bool operator<(const Item &other) const { return name < other.name; }
};

template <int number>
class Store {
  public:
    using Entry = Item<number>;
    using Visit = std::function<bool(const Entry &)>;

    void put(Entry entry) {
        const std::lock_guard<std::mutex> lock(mutex_);
        index_[entry.name].push_back(order_.size());
        order_.push_back(std::make_shared<Entry>(std::move(entry)));
        changed_.notify_all();
    }

    std::shared_ptr<Entry> wait(const std::string &name) {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [&] { return index_.count(name) != 0 || closed_; });
        const auto found = index_.find(name);
        return found == index_.end() ? nullptr : order_[found->second.back()];
    }

    std::map<std::string, double> sums() const {
        std::map<std::string, double> sums;
        for (const auto &entry : order_)
            sums[entry->name] += std::accumulate(entry->values.begin(), entry->values.end(), 0.0);
        return sums;
    }

    std::vector<Entry> sorted(const Visit &wanted) const {
        std::vector<Entry> all;
        for (const auto &entry : order_)
            if (wanted(*entry)) all.push_back(*entry);
        std::stable_sort(all.begin(), all.end());
        return all;
    }

    std::string report() const {
        std::string out;
        for (const auto &[name, sum] : sums()) {
            char digits[32];
            out.append(name).append(": ").append(digits, std::to_chars(digits, digits + sizeof digits, sum).ptr);
            out += std::to_string(index_.at(name).size()) + (closed_ ? " closed\n" : "\n");
        }
        return out;
    }

    std::set<std::string> names() const {
        std::set<std::string> names;
        for (const auto &[name, places] : index_)
            if (!places.empty()) names.insert(name);
        return names;
    }

    void close() {
        const std::lock_guard<std::mutex> lock(mutex_);
        closed_ = true;
        changed_.notify_all();
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::shared_ptr<Entry>> order_;
    std::unordered_map<std::string, std::vector<std::size_t>> index_;
    std::atomic<bool> closed_{false};
};

template <int number>
std::size_t use(std::string_view words) {
    Store<number> store;
    std::thread reader([&] { (void)store.wait("last"); });
    for (std::size_t at = 0; at < words.size(); ++at)
        store.put({std::string(words.substr(at)), {1.0 * number, 2.5}, std::nullopt});
    store.close();
    reader.join();
    const auto some = store.sorted([&](const Item<number> &item) { return item.name.size() % 2 == number % 2; });
    return some.size() + store.report().size() + store.names().size();
}

template <int... numbers>
std::size_t use_all(std::string_view words, std::integer_sequence<int, numbers...>) {
    return (use<numbers>(words) + ...);
}

} // namespace

std::size_t yardstick(std::string_view words);
std::size_t yardstick(std::string_view words) {
    return use_all(words, std::make_integer_sequence<int, 6>{});
}
