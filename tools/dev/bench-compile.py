#!/usr/bin/env python3
# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# bench-compile.py TRANSOM [FOLDER]: compiles a model of BERT-base's shape with random weights (or a given folder) and
# prints time and peak memory beside the bounds: 10 seconds, and 500 MB plus twice the largest tensor. Exits 1 when a
# bound does not hold. The numbers mean something only on a machine that does nothing else.
import json
import os
import resource
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "test", "e2e"))

from models import write_bert  # noqa: E402

SECONDS, BYTES = 10.0, 500_000_000


def fill(path):
    """Random bytes in place of the holes, so that all of the file is read and written."""
    block = os.urandom(1 << 20)
    with open(path, "r+b") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        end = os.path.getsize(path)
        file.seek(8 + length)
        while file.tell() < end:
            file.write(block[: end - file.tell()])


def largest_tensor(path):
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
    return max(e["data_offsets"][1] - e["data_offsets"][0] for name, e in header.items() if name != "__metadata__")


def main():
    tool = sys.argv[1]
    with tempfile.TemporaryDirectory() as scratch:
        folder = sys.argv[2] if len(sys.argv) > 2 else os.path.join(scratch, "bert-base")
        weights = os.path.join(folder, "model.safetensors")
        if len(sys.argv) <= 2:
            write_bert(folder, hidden=768, layers=12, heads=12, intermediate=3072, vocab=30522, positions=512, filled=1 << 10)
            fill(weights)
        start = time.monotonic()
        subprocess.run([tool, "compile", folder, "-o", os.path.join(scratch, "model.so"), "-v"], check=True)
        seconds = time.monotonic() - start
        largest = largest_tensor(weights)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    allowed = BYTES + 2 * largest
    print(f"time {seconds:.2f} s, at most {SECONDS:.0f} s")
    print(f"peak {peak / 1e6:.0f} MB, at most {allowed / 1e6:.0f} MB")
    sys.exit(seconds > SECONDS or peak > allowed)


if __name__ == "__main__":
    main()
