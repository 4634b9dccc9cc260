// SPDX-License-Identifier: Apache-2.0
#include "records/bytes.h"
#include "records/records.h"

#include <iostream>
#include <stdexcept>

namespace mdist {

int check_records(const RecordsOptions &options) {
    int result = 0;
    for (const std::string &path : options.check) {
        try {
            uint64_t count = 0, bytes = 0;
            FileRecords records(path, compression_of(path), 0, 0);
            for (std::string_view record; records.next(record); bytes += record.size()) ++count;
            std::cout << path << ": " << count << " records, " << bytes << " bytes\n";
        } catch (const std::runtime_error &failure) {
            std::cerr << "mdist records: " << failure.what() << "\n";
            result = 1;
        }
    }
    return result;
}

} // namespace mdist
