// SPDX-License-Identifier: Apache-2.0
// Prints one line per check: "ok", or "problem" with what to do about it. Main thread.
#pragma once

#include <cstdio>
#include <string>

namespace mdist {

class CheckReport {
  public:
    void ok(const std::string &subject, const std::string &finding) { line("ok", subject, finding); }
    void problem(const std::string &subject, const std::string &finding, const std::string &remedy) {
        line("problem", subject, finding + "; " + remedy);
        ++problems_;
    }
    unsigned problems() const { return problems_; }

  private:
    static void line(const char *verdict, const std::string &subject, const std::string &text) {
        std::printf("%-8s %-9s %s\n", verdict, subject.c_str(), text.c_str());
        std::fflush(stdout); // the next check may take long
    }
    unsigned problems_ = 0;
};

} // namespace mdist
