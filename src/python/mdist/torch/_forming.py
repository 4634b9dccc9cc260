# SPDX-License-Identifier: Apache-2.0
"""Makes the strategy behind a process group: each process is one worker with one replica."""
from __future__ import annotations

import base64
import os
import secrets
import socket
import tempfile
from datetime import timedelta
from typing import Any, Mapping

from ..config import Config
from ..info import has
from ..strategy import Strategy

# Keys that say who takes part. The process group knows that already.
_FORBIDDEN = ("cluster.", "task.", "strategy", "devices", "num_gpus", "executor", "secret_file")
# Keys that a process group takes from the environment (MDIST_COMMUNICATION_TIMEOUT ...).
_FROM_ENVIRONMENT = ("communication.implementation", "communication.timeout", "communication.join_timeout",
                     "communication.heartbeat_timeout", "communication.checksum", "communication.ports",
                     "communication.interface", "communication.listen", "communication.address", "log.level",
                     "log.wait_after")
# The most that libmdist takes for a time.
_LONGEST = timedelta(days=3650)


def _settings(options: Mapping[str, Any] | None, timeout: timedelta) -> dict[str, Any]:
    """The keys of the configuration: the process group's timeout, then the environment, then the program's options."""
    limit = f"{min(timeout, _LONGEST).total_seconds()}s"
    keys: dict[str, Any] = {"communication.timeout": limit, "communication.join_timeout": limit}
    for key in _FROM_ENVIRONMENT:
        value = os.environ.get("MDIST_" + key.upper().replace(".", "_"))
        if value:
            keys[key] = value
    for key, value in dict(options or {}).items():
        if key.startswith(_FORBIDDEN):
            raise ValueError(f"pg_options has {key!r}, which the process group decides; leave it out")
        keys[key] = value
    return keys


def _own_host() -> str:
    """The address under which the other processes reach this one: that of the way to MASTER_ADDR."""
    master, port = os.environ.get("MASTER_ADDR", ""), os.environ.get("MASTER_PORT", "1")
    if not master:
        return "127.0.0.1"
    family, kind, protocol, _, address = socket.getaddrinfo(master, int(port), type=socket.SOCK_DGRAM)[0]
    with socket.socket(family, kind, protocol) as probe:
        probe.connect(address)  # sends nothing
        return probe.getsockname()[0]


def _own_address() -> tuple[str, socket.socket]:
    """An address with a free port, which nobody else gets as long as the socket is open."""
    host = _own_host()
    holder = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    holder.bind((host, 0))
    port = holder.getsockname()[1]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}", holder


def _secret_file(secret: str) -> str:
    """A file that only its owner may read. The library reads it once."""
    handle, path = tempfile.mkstemp(prefix="mdist-")
    with os.fdopen(handle, "w") as file:
        file.write(secret)
    return path


def _agreed_secret(store: Any, rank: int) -> str:
    """A secret that rank 0 makes and the others get from the store of the process group. It is as safe as that store.
    """
    if rank == 0:
        store.set("mdist/secret", base64.b64encode(secrets.token_bytes(48)).decode())
    return store.get("mdist/secret").decode()


def form(store: Any, rank: int, size: int, timeout: timedelta, options: Mapping[str, Any] | None = None) -> Strategy:
    """Makes this process's strategy. All processes of the group call it; `store` is that of the group."""
    keys = _settings(options, timeout)
    if size == 1:
        return Strategy(Config.empty(keys, strategy="mirrored", devices="cpu"))
    address, holder = _own_address()
    with holder:  # until all have chosen
        store.set(f"mdist/{rank}", address)
        addresses = [store.get(f"mdist/{other}").decode() for other in range(size)]
    keys.update({"strategy": "multi_worker", "devices": "cpu", "cluster.worker": ",".join(addresses),
                 "task.type": "worker", "task.index": rank})
    if not has("secret"):
        return Strategy(Config.empty(keys))
    path = _secret_file(_agreed_secret(store, rank))
    try:
        return Strategy(Config.empty(keys, secret_file=path))
    finally:
        os.unlink(path)

