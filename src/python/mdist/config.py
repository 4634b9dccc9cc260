# SPDX-License-Identifier: Apache-2.0
"""Settings."""
from __future__ import annotations

import os
import threading
from typing import Any, Iterable, Mapping

from ._arguments import _name
from ._held import _Destroyable
from ._library import _lib
from .errors import _call, _new, _text


class Config(_Destroyable):
    """String keys that decide devices, executor and limits: Config({"communication.timeout": "30s"}, devices="cpu*2").

    Begins with the environment, as load_environment() loads it. The keys here, and those set later, override it. Config.empty
    begins with nothing. Reads and takes keys like a dict. Lists are joined with commas: devices=["cpu:0", "cpu:1"].
    """

    _destroy = _lib.mdist_config_destroy

    def __init__(self, keys: Mapping[str, Any] | Iterable[tuple[str, Any]] = (), **more: Any) -> None:
        self._begin()
        self.load_environment()
        self._update(keys, more)

    @classmethod
    def empty(cls, keys: Mapping[str, Any] | Iterable[tuple[str, Any]] = (), **more: Any) -> Config:
        """One that does not look at the environment. A launcher's workers that use it train alone, or are refused."""
        config = cls.__new__(cls)
        config._begin()
        config._update(keys, more)
        return config

    def _begin(self):
        super().__init__(_new(_lib.mdist_config_create))
        self._lock = threading.Lock()  # the library does not check that one thread at a time uses it

    def _update(self, keys, more):
        if isinstance(keys, str):
            raise TypeError(f"{keys!r} is no dict of keys; did you mean devices={keys!r}?")
        for key, value in {**dict(keys), **more}.items():
            self[key] = value

    def __setitem__(self, key: str, value: Any) -> None:
        with self._lock:
            text = ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
            _call(_lib.mdist_config_set, self._handle, _name(key), text.encode())

    def __getitem__(self, key: str) -> str:
        with self._lock:
            return _text(_lib.mdist_config_get, self._handle, _name(key))

    def load(self, path: str | os.PathLike[str]) -> None:
        """A YAML file."""
        with self._lock:
            _call(_lib.mdist_config_load, self._handle, os.fsencode(path))

    def load_text(self, yaml: str) -> None:
        """The content of a YAML file. An Error names line, column and key of a mistake."""
        with self._lock:
            _call(_lib.mdist_config_load_text, self._handle, yaml.encode(), len(yaml.encode()))

    def load_environment(self) -> None:
        """The file that MDIST_CONFIG names, then every MDIST_* key, over what is there."""
        with self._lock:
            _call(_lib.mdist_config_load_environment, self._handle)
