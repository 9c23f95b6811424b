# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Runs one transom build and computes digests: artifacts, assembly, IR, tensors
# and command output. compare-builds uses it.
import hashlib
import json
import os
import re
import struct
import subprocess
import tempfile
import threading

from machine_code import digest_symbols

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# The IR stages whose text is compared.
IR_STAGES = ("attn", "attn-opt", "kern", "llvm-ir")
# Longer arrays of numbers are recorded as a digest.
MAX_LISTED = 12
# Result of a case for an instruction set that this CPU lacks.
NOT_SUPPORTED = "not run"
# JSON keys whose values vary from run to run, and such values in text.
VARYING = re.compile(r"(?:^|_)(?:ms|us|ns|s|seconds|gflops|gops|gbps|share|spread|rss|time|times)(?:_|$)")
VARYING_TEXT = re.compile(r"\d+(?:\.\d+)?(?:e[-+]\d+)? ?(?:ms|us|s|GFLOP/s|GB/s|tokens/s|texts/s)\b")
# Artifact sections with code and its tables, and the weight section.
CODE_SECTIONS, WEIGHT_SECTIONS = (".text", ".rodata", ".data.rel.ro"), (".transom.weights",)


def digest(data):
    return hashlib.sha256(data if isinstance(data, bytes) else data.encode()).hexdigest()[:24]


def digest_file(path):
    with open(path, "rb") as file:
        return digest(file.read())


def digest_model(path):
    """Model digest: a file, or all files in a folder except expected results and pages."""
    if os.path.isfile(path):
        return digest_file(path)
    names = sorted(n for n in os.listdir(path) if ".out." not in n and not n.endswith(".md") and os.path.isfile(os.path.join(path, n)))
    return digest("".join(n + digest_file(os.path.join(path, n)) for n in names))


def digest_tensors(path):
    """Digest for all tensors in a safetensors file, sorted by name."""
    with open(path, "rb") as file:
        raw = file.read()
    size = int.from_bytes(raw[:8], "little")
    found = hashlib.sha256()
    for name, entry in sorted(json.loads(raw[8:8 + size]).items()):
        if name != "__metadata__":
            start, end = entry["data_offsets"]
            found.update(repr((name, entry["dtype"], entry["shape"])).encode() + raw[8 + size + start:8 + size + end])
    return found.hexdigest()[:24]


def read_sections(raw):
    """Sections in a 64-bit little-endian ELF file: {name: bytes}."""
    (offset,) = struct.unpack_from("<Q", raw, 0x28)
    size, count, names = struct.unpack_from("<HHH", raw, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", raw, offset + size * i) for i in range(count)]
    start = headers[names][4]
    return {raw[start + h[0]:raw.index(b"\0", start + h[0])].decode(): raw[h[4]:h[4] + h[5]] for h in headers}


def digest_artifact(path):
    """Artifact digests: all bytes, the code and the weights."""
    with open(path, "rb") as file:
        raw = file.read()
    sections = read_sections(raw)
    return {"bytes": digest(raw), "code": digest(b"".join(sections.get(n, b"") for n in CODE_SECTIONS)),
            "weights": digest(b"".join(sections.get(n, b"") for n in WEIGHT_SECTIONS))}


def condense(value, mask_numbers=False, key=""):
    """A JSON value in which numbers that vary are masked and long arrays are replaced by digests."""
    if isinstance(value, dict):
        varies = mask_numbers or bool(VARYING.search(key))
        return {name: condense(below, varies, name) for name, below in value.items()}
    if isinstance(value, list):
        numbers = len(value) > MAX_LISTED and all(isinstance(one, (int, float)) for one in value)
        if numbers and not (mask_numbers or VARYING.search(key)):
            return f"{len(value)} numbers, {digest(json.dumps(value))}"
        return [condense(one, mask_numbers, key) for one in value]
    if isinstance(value, (int, float)) and not isinstance(value, bool) and (mask_numbers or VARYING.search(key)):
        return "(varies)"
    return value


def parse_output(text, mask_numbers):
    """{"json": value} for JSON or JSON lines, {"text": string} for other output."""
    try:
        return {"json": condense(json.loads(text), mask_numbers)}
    except ValueError:
        pass
    try:
        return {"json": condense([json.loads(line) for line in text.splitlines()], mask_numbers)}
    except ValueError:
        return {"text": VARYING_TEXT.sub("(varies)", text)}


class Build:
    """Runs the program `transom` in one build. The scratch folder exists as long as the process."""

    def __init__(self, path, flags=()):
        path = os.path.abspath(path)
        self.path = os.path.join(path, "bin", "transom") if os.path.isdir(path) else path
        if not os.path.isfile(self.path):
            raise ValueError(f"no program 'transom' in '{path}'")
        self.flags, self.seconds = list(flags), 0.0
        self.folder, self.lock = tempfile.TemporaryDirectory(), threading.Lock()
        library = os.path.join(os.path.dirname(os.path.dirname(self.path)), "lib")
        names = sorted(n for n in os.listdir(library) if ".so" in n) if os.path.isdir(library) else []
        files = [self.path, *(os.path.join(library, n) for n in names)]
        self.digest = digest("".join(digest_file(file) for file in files) + repr(self.flags))
        # As in the tests, no environment variable changes a flag. Statistics depend on the thread count.
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("TRANSOM_")}
        self.environment["TRANSOM_THREADS"] = "2"

    def run(self, arguments, isa=None, stdin=""):
        """Runs a command; returns (exit code, standard output, standard error)."""
        more = {"TRANSOM_FORCE_ISA": isa} if isa else {}
        done = subprocess.run([self.path, *arguments], capture_output=True, timeout=1800, cwd=ROOT, input=stdin.encode(),
                              env={**self.environment, **more}, check=False)
        return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")

    def compile(self, model, arguments, output):
        """Compiles a model and adds the CPU time. Returns None, or the exit code and the last message if it failed."""
        command = [self.path, "compile", model, "-q", "-o", output, *arguments, *self.flags]
        with tempfile.TemporaryFile() as messages:
            started = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=messages, stderr=messages, cwd=ROOT, env=self.environment)
            # getrusage would count children that other threads run.
            _, status, usage = os.wait4(started.pid, 0)
            started.returncode = os.waitstatus_to_exitcode(status)
            self.seconds += usage.ru_utime + usage.ru_stime
            messages.seek(0)
            lines = messages.read().decode(errors="replace").strip().splitlines() or ["(silent)"]
        if started.returncode == 0:
            return None
        return {"exit": started.returncode, "messages": self.hide_paths(lines[-1], os.path.dirname(output))}

    def hide_paths(self, text, *folders):
        """Replaces folder names that differ from run to run."""
        for folder in (*folders, self.folder.name):
            text = text.replace(folder, "(scratch)")
        return text

    def get_code(self, model, arguments):
        """{"asm": {file: {symbol: digest}}}, one assembly file for each instruction set."""
        with tempfile.TemporaryDirectory() as scratch:
            failure = self.compile(model, [*arguments, "--emit", "asm"], os.path.join(scratch, "m.s"))
            files = {}
            for name in sorted(os.listdir(scratch)) if not failure else ():
                with open(os.path.join(scratch, name), encoding="utf-8") as file:
                    files[name] = digest_symbols(file.read())
            return failure or {"exit": 0, "asm": files}

    def get_ir(self, model, arguments):
        """{"ir": {file: digest}} for each IR stage."""
        found = {}
        for stage in IR_STAGES:
            with tempfile.TemporaryDirectory() as scratch:
                failure = self.compile(model, [*arguments, "--emit", stage], os.path.join(scratch, "m.ir"))
                if failure:
                    return failure
                for name in sorted(os.listdir(scratch)):
                    found[f"{stage} {name}"] = digest_file(os.path.join(scratch, name))
        return {"exit": 0, "ir": found}

    def get_results(self, model, arguments, cases, full=True):
        """Artifact digests, the `inspect --json` output, and a digest of the output tensors for each case and each
        instruction set in the artifact. A case is (name, entry, input file, flags)."""
        with tempfile.TemporaryDirectory() as scratch:
            artifact = os.path.join(scratch, "m.so")
            failure = self.compile(model, arguments, artifact)
            if failure:
                return failure
            code, text, messages = self.run(["inspect", artifact, "--json"])
            if code:
                return {"exit": code, "messages": self.hide_paths(messages, scratch)}
            inspected = json.loads(text)
            found = {"exit": 0, **digest_artifact(artifact), "outputs": {}}
            if full:
                found["inspect"] = condense(inspected)
            for isa in inspected["isas"]:
                for name, entry, given, flags in cases:
                    result = self.run_case(artifact, entry, given, flags, isa, scratch)
                    if result == NOT_SUPPORTED:
                        found["outputs"][isa] = result
                        break
                    found["outputs"][f"{isa} {name}"] = result
            return found

    def run_case(self, artifact, entry, given, flags, isa, scratch):
        """Runs a case; returns the digest of its output tensors, or the exit code."""
        out = os.path.join(scratch, "out.safetensors")
        code, _, messages = self.run(["run", artifact, entry, "--in", given, "--out", out, *flags], isa)
        if code == 4 and f"'{isa}'" in messages:
            return NOT_SUPPORTED
        return f"exit {code}" if code else digest_tensors(out)

    def get_output(self, arguments, stdin="", mask_numbers=False, scratch=""):
        """Runs a command; returns its exit code, standard output (parsed if it is JSON) and messages."""
        code, output, messages = self.run(arguments, stdin=stdin)
        output, messages = (self.hide_paths(text, *[scratch] * bool(scratch)) for text in (output, messages))
        return {"exit": code, **parse_output(output, mask_numbers), "messages": VARYING_TEXT.sub("(varies)", messages)}

    def get_artifact(self, name, model, arguments):
        """Compiles an artifact that several commands share; returns its path."""
        path = os.path.join(self.folder.name, name + ".so")
        with self.lock:
            failure = None if os.path.exists(path) else self.compile(model, arguments, path)
        if failure:
            raise RuntimeError(f"compile '{model}': {failure}")
        return path
