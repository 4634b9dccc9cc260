// SPDX-License-Identifier: Apache-2.0
#include "cluster/devices.h"

#include <set>
#include <tuple>

#include "cluster/config_values.h"
#include "cluster/names.h"
#include "util/failure.h"
#include "util/text.h"
#include "util/utf8.h"

namespace mdist {

namespace {

[[noreturn]] void refuse(std::string message) {
    throw Failure(MDIST_ERR_CONFIG, text("devices: ", message)).reason("bad_value");
}

/// The parts of an item: gpu:0*2 has kind gpu, index 0 and 2 copies.
struct Item {
    DeviceKind kind = DeviceKind::kCpu;
    bool has_index = false;
    bool has_copies = false;
    std::int32_t index = 0;
    std::int32_t copies = 1;
};

std::int32_t number_in(std::string_view digits, std::string_view item, std::int32_t least, std::int32_t most) {
    std::int64_t number = -1;
    if (!digits.empty() && digits.size() < 10 && digits.find_first_not_of("0123456789") == std::string_view::npos)
        number = static_cast<std::int64_t>(parse_count(digits));
    if (number < least || number > most)
        refuse(text("in ", in_quotes(item), ", ", in_quotes(digits), " must be a whole number from ", least, " to ",
                    most));
    return static_cast<std::int32_t>(number);
}

Item take_apart(std::string_view given) {
    std::string lower = lower_case(given);
    std::string_view rest = lower;
    for (std::string_view prefix : {"/job:localhost/replica:0/task:0/device:", "/device:", "device:", "/"})
        if (rest.starts_with(prefix)) {
            rest.remove_prefix(prefix.size());
            break;
        }
    Item item;
    item.kind = rest.starts_with("gpu") ? DeviceKind::kGpu : DeviceKind::kCpu;
    if (!rest.starts_with("gpu") && !rest.starts_with("cpu"))
        refuse(text(in_quotes(given), " is not a valid device; write auto, cpu:0, cpu*4, gpu:0 or gpu:0*2"));
    rest.remove_prefix(3);
    constexpr auto kMost = static_cast<std::int32_t>(kMostDevices);
    if (auto star = rest.find('*'); star != std::string_view::npos) {
        item.has_copies = true;
        item.copies = number_in(trimmed(rest.substr(star + 1)), given, 1, kMost);
        rest = trimmed(rest.substr(0, star));
    }
    if (rest.starts_with(':')) {
        item.has_index = true;
        item.index = number_in(rest.substr(1), given, 0, kMost - 1);
    } else if (!rest.empty()) {
        refuse(text(in_quotes(given), " is not a valid device; write auto, cpu:0, cpu*4, gpu:0 or gpu:0*2"));
    }
    return item;
}

/// Appends the devices of one item.
void append_item(std::vector<DeviceName> &devices, std::string_view given) {
    Item item = take_apart(given);
    bool is_cpu = item.kind == DeviceKind::kCpu;
    if (is_cpu && item.has_index && item.has_copies)
        refuse(text(in_quotes(given), ": only a GPU has logical devices. For several CPU replicas write cpu*",
                    item.copies));
    if (!is_cpu && !item.has_index && item.has_copies)
        refuse(text(in_quotes(given), " is ambiguous; write gpu:0,gpu:1 for two GPUs or gpu:0*2 for one GPU twice"));
    if (devices.size() + item.copies > kMostDevices) refuse(text("more than ", kMostDevices, " devices are named"));
    for (std::int32_t i = 0; i < item.copies; ++i)
        devices.push_back(is_cpu && item.has_copies ? DeviceName{item.kind, i, 0}
                                                    : DeviceName{item.kind, item.index, i});
}

void check_distinct(const std::vector<DeviceName> &devices) {
    std::set<std::tuple<DeviceKind, std::int32_t, std::int32_t>> seen;
    for (const DeviceName &device : devices) {
        if (seen.insert({device.kind, device.index, device.logical}).second) continue;
        std::string name = device_text({device.kind, device.index, 0});
        refuse(text(name, " is named twice; no duplicates",
                    device.kind == DeviceKind::kGpu ? text(": write ", name, "*2 for logical devices")
                                                    : text(": write cpu:0,cpu:1 or cpu*2 for several CPU replicas")));
    }
}

} // namespace

std::vector<DeviceName> parse_devices(std::string_view devices) {
    if (lower_case(trimmed(devices)) == "auto") return {DeviceName{}};
    auto items = split_list(devices);
    if (items.empty()) refuse("the list is empty; name at least one device, or auto");
    std::vector<DeviceName> found;
    for (const std::string &item : items) append_item(found, item);
    check_distinct(found);
    return found;
}

std::vector<DeviceName> first_gpus(std::size_t count) {
    if (count == 0) return {DeviceName{}};
    if (count > kMostDevices) refuse(text("num_gpus is ", count, "; at most ", kMostDevices, " are allowed"));
    std::vector<DeviceName> found;
    for (std::size_t i = 0; i < count; ++i) found.push_back({DeviceKind::kGpu, static_cast<std::int32_t>(i), 0});
    return found;
}

std::string device_text(const DeviceName &device) {
    std::string name = text(device.kind == DeviceKind::kCpu ? "cpu:" : "gpu:", device.index);
    return device.logical == 0 ? name : text(name, '/', device.logical);
}

} // namespace mdist
