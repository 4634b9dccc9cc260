# SPDX-License-Identifier: Apache-2.0
"""The environment of programs that tests start."""
import os

from time_limits import LONG_ENOUGH_S


def environment(**own):
    """Our environment without what the library and the tool read, and with `own`. Nobody is missed for its silence who
    is only slow."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("MDIST_", "TF_CONFIG", "OMP_", "OPENBLAS_"))}
    return {**kept, "MDIST_COMMUNICATION_HEARTBEAT_TIMEOUT": f"{LONG_ENOUGH_S}s", **own}
