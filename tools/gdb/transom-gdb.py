# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A gdb command that shows the model operation that a thread computes.

  (gdb) source transom-gdb.py
  (gdb) transom-where

The executor leaves a mark on the stack before it calls a phase; the mark contains the entry and the dispatch index. The artifact's
manifest maps this index to a model operation, and the layer range in the symbol selects the layer.
"""
import json
import re
import struct

import gdb

MARK = b"transom.dispatch"
FIELDS = struct.Struct("<QqqQ")  # entry, dispatch, worker, worker count
PHASE, KERNEL = "transom.p.", "transom.k."
NOTE = 4  # a program header's type
MANIFEST = 1  # a note's type
STACK_BYTES = 4096  # max frame size in the executor


def read_manifest(path):
    """Returns an artifact's manifest."""
    with open(path, "rb") as file:
        header = file.read(64)
        offset, (size, count) = struct.unpack_from("<Q", header, 32)[0], struct.unpack_from("<HH", header, 54)
        file.seek(offset)
        segments = file.read(size * count)
        for index in range(count):
            kind, _, begin, _, _, length = struct.unpack_from("<IIQQQQ", segments, index * size)
            if kind != NOTE:
                continue
            file.seek(begin)
            notes, at = file.read(length), 0
            while at + 12 <= len(notes):
                name_size, text_size, note = struct.unpack_from("<III", notes, at)
                at += 12 + (name_size + 3) // 4 * 4
                if note == MANIFEST and notes[at - 8 : at].startswith(b"transom"):
                    return json.loads(notes[at : at + text_size])
                at += (text_size + 3) // 4 * 4
    raise gdb.GdbError(f"'{path}' has no manifest")


def expand(text):
    """Returns the alternatives in `{0-2,5}`."""
    items = []
    for item in text.split(","):
        first, _, last = item.partition("-")
        if first.isdigit() and last.isdigit():
            items += [str(number) for number in range(int(first), int(last) + 1)]
        else:
            items.append(item)
    return items


def choose_layer(location, run, runs):
    """Returns the layer that run number `run` among `runs` phase runs computes, from the range in a location, and its location."""
    for part in re.finditer(r"\{([^}]*)\}", location):
        layers = expand(part[1])
        if runs > 1 and len(layers) == runs and all(layer.isdigit() for layer in layers):
            return layers[run], location[: part.start()] + layers[run] + location[part.end() :]
    return None, location


def find_phase(frame):
    """Returns the closest phase frame, going up from a frame."""
    while frame is not None and not (frame.name() or "").startswith(PHASE):
        frame = frame.older()
    if frame is None:
        raise gdb.GdbError("this thread runs no phase of a model")
    return frame


def read_mark(phase):
    """Returns the executor's data on a phase dispatch: (entry address, dispatch, worker, worker count)."""
    caller = phase.older()
    if caller is not None:
        start = int(caller.read_register("sp"))
        inferior = gdb.selected_inferior()
        for size in (STACK_BYTES, STACK_BYTES // 8):  # fewer at the end of the stack
            try:
                memory = bytes(inferior.read_memory(start, size))
            except gdb.MemoryError:
                continue
            at = memory.find(MARK)
            if 0 <= at <= size - len(MARK) - FIELDS.size:
                return FIELDS.unpack_from(memory, at + len(MARK))
    raise gdb.GdbError(f"'{phase.name()}' was not called by the executor of transom")


def describe(frame):
    """Returns lines about the phase that a frame belongs to."""
    kernel = frame.name()
    phase = find_phase(frame)
    entry_address, dispatch, worker, workers = read_mark(phase)
    # The entry begins with a pointer to its name.
    inferior = gdb.selected_inferior()
    (name_address,) = struct.unpack("<Q", bytes(inferior.read_memory(entry_address, 8)))
    name = gdb.Value(name_address).cast(gdb.lookup_type("char").pointer()).string()
    artifact = gdb.solib_name(phase.pc())
    manifest = read_manifest(artifact)
    entry = next(entry for entry in manifest["entries"] if entry["name"] == name)
    order = entry["dispatch_order"]
    index = order[dispatch]
    about = entry["dispatches"][index]
    layer, location = choose_layer(about["location"], order[:dispatch].count(index), order.count(index))
    lines = [("entry", name), ("dispatch", f"{dispatch + 1} of {len(order)}, worker {worker + 1} of {workers}"), ("phase", about["phase"])]
    if layer is not None:
        lines.append(("layer", layer))
    lines.append(("location", location))
    if kernel.startswith(KERNEL):
        lines.append(("kernel", kernel))
    line = phase.find_sal()
    if line.symtab is not None and line.line > 0:
        lines.append(("line", f"{line.symtab.filename}:{line.line}"))
    lines.append(("artifact", artifact))
    return lines


class Where(gdb.Command):
    """Say which entry, phase, layer and operation of a model the selected frame belongs to."""

    def __init__(self):
        super().__init__("transom-where", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        try:
            for name, value in describe(gdb.selected_frame()):
                gdb.write(f"{name:<9} {value}\n")
        except (OSError, ValueError) as error:
            raise gdb.GdbError(f"transom-where: {error}") from error


Where()
