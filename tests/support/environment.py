# SPDX-License-Identifier: Apache-2.0
"""The environment of programs that tests start."""
import os


def clean_environment(**own):
    """Our environment without what the library and the tool read, and with `own`."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("MDIST_", "TF_CONFIG", "OMP_", "OPENBLAS_"))}
    return {**kept, **own}
