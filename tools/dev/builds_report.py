# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Compares the digests that two builds have for one job, except for differences
# that are allowed. compare-builds uses it.
import re

from builds_program import NOT_SUPPORTED
from machine_code import compare_code

# Kinds for --allow, and the differences that each permits.
ALLOWED = {
    "abi": "the ABI number in manifests and output",
    "manifest-roles": "keys 'role', 'roles', 'kind' and 'signature' that entries in `inspect --json` get, lose or change",
    "messages": "text: standard error, output that is not JSON, and the strings 'why', 'notes', 'summary', 'message' and 'reason' in JSON",
    "ir": "IR text, and values (not keys) in `explain --json` and `verify --json`",
    "code": "machine code; output tensors are still compared",
    "weights": "weight layout in artifacts",
    "keys": "JSON keys that are new",
    "figures": "values (not keys) in `inspect --json` below 'memory', 'formulas' and each entry, such as arena sizes",
    "bytes": "artifact bytes that are not code or weights; implied by all kinds above",
}
ROLE_KEYS = re.compile(r"(?:^|/)entries/.*/(?:role|roles|kind|signature)(?:/|$)")
ABI_KEYS = re.compile(r"(?:^|/)abi$")
TEXT_KEYS = re.compile(r"(?:^|/)(?:why|notes|summary|message|messages|reason)(?:/\d+)?$")
FIGURE_KEYS = re.compile(r"^(?:file_bytes$|memory/|formulas/|entries/\d+/(?!name$|inputs|outputs|derived_from))")
MAX_SHOWN = 6


def flatten(value, path=""):
    """All leaves in a JSON value as {path: leaf}; empty arrays and objects are leaves."""
    if isinstance(value, (dict, list)) and value:
        items = value.items() if isinstance(value, dict) else enumerate(value)
        found = {}
        for key, below in items:
            found.update(flatten(below, f"{path}/{key}" if path else str(key)))
        return found
    return {path: value}


def rename(value, names):
    """A JSON value with other names for keys, and for words in strings."""
    if isinstance(value, dict):
        return {names.get(key, key): rename(below, names) for key, below in value.items()}
    if isinstance(value, list):
        return [rename(below, names) for below in value]
    if isinstance(value, str):
        return re.sub(r"\w+", lambda match: names.get(match.group(), match.group()), value)
    return value


def shorten(value):
    text = repr(value)
    return text if len(text) <= 120 else text[:80] + "..." + text[-30:]


def list_some(names):
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


class Comparison:
    """Compares records job by job. `names` maps old identifiers in JSON to new ones."""

    def __init__(self, allowed=(), names=None):
        self.allowed, self.names = set(allowed), names or {}
        self.not_run = set()

    def compare(self, old, new, kind=""):
        """Differences in a job as {part: lines}; empty if it is equal."""
        if old.get("model") != new.get("model"):
            return {"model": ["the model or its inputs changed since they were recorded"]}
        if old.get("exit") != new.get("exit"):
            return {"exit code": [f"{old.get('exit')} {shorten(old.get('messages', ''))}", f"{new.get('exit')} {shorten(new.get('messages', ''))}"]}
        parts = {"code": self.compare_asm(old.get("asm", {}), new.get("asm", {})) + self.compare_leaf(old, new, "code", "code"),
                 "weights": self.compare_leaf(old, new, "weights", "weights"),
                 "bytes": [] if self.allowed else self.compare_leaf(old, new, "bytes", "bytes"),
                 "IR": self.compare_digests(old.get("ir", {}), new.get("ir", {}), "ir"),
                 "outputs": self.compare_digests(old.get("outputs", {}), new.get("outputs", {})),
                 "inspect": self.compare_json(old.get("inspect"), new.get("inspect"), "inspect"),
                 "JSON": self.compare_json(old.get("json"), new.get("json"), kind),
                 "text": self.compare_leaf(old, new, "text", "messages"),
                 "messages": self.compare_leaf(old, new, "messages", "messages")}
        for name in sorted(old.get("commands", {}).keys() | new.get("commands", {}).keys()):
            one, other = (side.get("commands", {}).get(name, {}) for side in (old, new))
            parts.update({f"{name}: {part}": found for part, found in self.compare(one, other).items()})
        return {part: found for part, found in parts.items() if found}

    def compare_leaf(self, old, new, key, kind):
        if kind in self.allowed or old.get(key) == new.get(key):
            return []
        one, other = (self.drop_abi(rename(side.get(key), self.names)) for side in (old, new))
        return [] if one == other else [f"old: {shorten(one)}", f"new: {shorten(other)}"]

    def drop_abi(self, text):
        return re.sub(r"\bABI \d+", "ABI", text) if "abi" in self.allowed and isinstance(text, str) else text

    def compare_asm(self, old, new):
        """Symbols by content, for each assembly file."""
        found = []
        for file in sorted(old.keys() | new.keys()) if "code" not in self.allowed else ():
            lost, added = compare_code(old.get(file, {}), new.get(file, {}))
            if lost or added:
                found += [f"{file}: {len(lost)} of {len(old.get(file, {}))} symbols only in old: {list_some(lost)}",
                          f"{file}: {len(added)} of {len(new.get(file, {}))} symbols only in new: {list_some(added)}"]
        return found

    def compare_digests(self, old, new, kind=None):
        """Digests by name. A name that one side lacks is a difference."""
        if kind in self.allowed:
            return []
        self.not_run |= {name.split()[0] for name, value in new.items() if value == old.get(name) == NOT_SUPPORTED}
        off = [name for name in sorted(old.keys() | new.keys()) if old.get(name) != new.get(name)]
        found = [f"{name}: {old.get(name)} / {new.get(name)}" for name in off[:MAX_SHOWN]]
        return found + [f"and {len(off) - MAX_SHOWN} more"] * (len(off) > MAX_SHOWN)

    def compare_json(self, old, new, kind):
        """Compares keys and values in JSON output, except the ones that may differ."""
        old, new = flatten(rename(old, self.names)), flatten(new)
        lost = [path for path in old if path not in new and not self.may_differ(path, kind, is_key=True)]
        added = [path for path in new if path not in old and "keys" not in self.allowed and not self.may_differ(path, kind, is_key=True)]
        changed = [path for path in old if path in new and old[path] != new[path] and not self.may_differ(path, kind)]
        found = [f"{path}: {shorten(old[path])} / {shorten(new[path])}" for path in changed[:MAX_SHOWN]]
        found += [f"and {len(changed) - MAX_SHOWN} more values"] * (len(changed) > MAX_SHOWN)
        return found + [f"only in old: {list_some(lost)}"] * bool(lost) + [f"only in new: {list_some(added)}"] * bool(added)

    def may_differ(self, path, kind, is_key=False):
        """Whether a key may come or go, or its value may change."""
        if "manifest-roles" in self.allowed and ROLE_KEYS.search(path):
            return True
        if is_key:
            return "ir" in self.allowed and kind in ("explain", "verify") and bool(re.search(r"/\d+(?:/|$)", path))
        return ("abi" in self.allowed and bool(ABI_KEYS.search(path)) or
                "messages" in self.allowed and bool(TEXT_KEYS.search(path)) or
                "ir" in self.allowed and kind in ("explain", "verify") or
                "figures" in self.allowed and kind == "inspect" and bool(FIGURE_KEYS.search(path)))
