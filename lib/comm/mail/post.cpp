// SPDX-License-Identifier: Apache-2.0
#include "comm/mail/post.h"

#include "util/dtype.h"
#include "util/text.h"

namespace mdist {

std::size_t MailForm::bytes() const {
    return elements * dtype_size(dtype);
}

std::string MailForm::text() const {
    return mdist::text(elements, " ", dtype_name(dtype));
}

std::string Post::text() const {
    return mdist::text(function(), is_send ? "(to " : "(from ", other(), ", tag ", key.tag, ", ", form.text(), ")");
}

} // namespace mdist
