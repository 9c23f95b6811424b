# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""All flags that name files: no output is an input, no old file is lost, two writers do not mix, devices are written directly."""
import fcntl
import json
import os
import re
import resource
import shutil
import stat
import subprocess
import unittest

from base import GOLDENS, SOURCE, TOOL, write_tensors
from texts import TextsTest, tokenizer

# Each flag that names a file is in one of these tables. For outputs the tests below check all properties above.
OUTPUTS = {
    ("compile", "output"), ("compile", "stages"), ("run", "out"), ("embed", "output"), ("attention", "output"), ("inspect", "output"),
    ("explain", "html"), ("explain", "model-explorer"), ("verify", "stages"), ("bench", "trace"),
}  # fmt: skip
COMPILE_INPUTS = {"lora", "calibrate", "chat-template", "shortlist"}
INPUTS = {
    "compile": COMPILE_INPUTS | {"resume-from"},
    "explain": COMPILE_INPUTS | {"profile", "other-profile", "assembly", "other-assembly"},
    "inspect": {"diff"},
    "run": {"in"},
    "bench": {"in", "texts", "compare"},
    "verify": COMPILE_INPUTS | {"expect", "model", "compare"},
    "score": {"file", "target", "perplexity"},
    "translate": {"file", "target-prefix-file"},
    "summarize": {"file", "target-prefix-file"},
    **{command: {"file"} for command in ("generate", "embed", "classify", "tag", "answer", "fill-mask", "rerank", "similarity", "tokenize")},
}
PATH_TYPES = r"(F|FILE|FILES|FILE\.\.|FOLDER|PATH|SO|DIR|FILE\|FOLDER/STAGE)"

# Sources that may open a file for writing: the class for all outputs, and writers of internal files.
WRITERS = {
    "runtime/base/OutputFile.cpp", "runtime/base/PartialFile.cpp",
    "tools/commands/StandardStreams.cpp",  # closed streams
    "tools/commands/verify/BitsElsewhere.cpp",  # a child's messages, in a temporary folder
    "compiler/stages/ModuleText.cpp",  # reproducers, in the temporary folder
}  # fmt: skip
OPENS = re.compile(r"\bO_(WRONLY|RDWR|CREAT|TRUNC)\b|\bf(re)?open\(|\bofstream\b|\braw_fd_ostream \w+\(|\bToolOutputFile\b|\bopenOutputFile\b|\bmkstemp")


def read(path):
    with open(path, "rb") as file:
        return file.read()


def write(path, text):
    with open(path, "w") as file:
        file.write(text)
    return path


class Outputs(TextsTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.model = cls.models["bert"]
        cls.attention = cls.with_attention()

    @classmethod
    def with_attention(cls):
        cls.bert = os.path.join(cls.shared, "folder")
        shutil.copytree(os.path.join(GOLDENS, "bert"), cls.bert, ignore=shutil.ignore_patterns("encode.*", "cases.json"))
        write(os.path.join(cls.bert, "tokenizer.json"), json.dumps(tokenizer()))
        return cls.compiled(cls.bert, "--attention")

    def setUp(self):
        super().setUp()
        self.texts = write(self.path("texts"), "the cat\na big dog\n")
        self.tensors = self.path("in.safetensors")
        write_tensors(self.tensors, {"input_ids": ("I64", [1, 3], [1, 2, 3]), "attention_mask": ("I64", [1, 3], [1, 1, 1])})
        self.assembly = write(self.path("code.s"), "")

    def runs(self, folder=None, model=None):
        """For each output file: the arguments without the output, the flag, and the input files."""
        folder, model = folder or self.bert, model or self.model
        files = [os.path.join(folder, name) for name in ("config.json", "model.safetensors", "tokenizer.json")]
        return {
            ("compile", "output"): (["compile", folder, "-q"], "-o", files),
            ("run", "out"): (["run", model, "encode", "--in", self.tensors], "--out", [model, self.tensors]),
            ("embed", "output"): (["embed", model, "--file", self.texts], "-o", [model, self.texts]),
            ("attention", "output"): (["attention", self.attention, "--text", "the cat"], "-o", []),
            ("inspect", "output"): (["inspect", folder, "--graph", "svg"], "-o", files[:1]),
            ("explain", "html"): (["explain", folder, "--assembly", self.assembly, "-q"], "--html", [files[0], self.assembly]),
            ("explain", "model-explorer"): (["explain", folder], "--model-explorer", files[:1]),
            ("bench", "trace"): (["bench", model, "-q", "-s", "8", "-r", "1", "--texts", self.texts], "--trace", [model, self.texts]),
        }

    def test_each_flag_that_names_a_file_is_known(self):
        commands = re.findall(r"^  ([a-z-]+) +\S", self.succeed("--help").stdout.split("Subcommands:")[1], re.M)
        self.assertGreater(len(commands), 15, commands)
        found = set()
        for command in commands:
            # Returns an option and its help, also where that is on the next line.
            help = re.sub(r"\n {10,}", " ", self.succeed(command, "-h").stdout)
            for flag, rest in re.findall(r"^  (?:-\w,)?--([\w-]+)(.*)$", help, re.M):
                kind, _, text = rest.strip().partition(" ") if rest[:1] == " " and rest[1:2] != " " else ("", "", rest)
                writes = kind.isupper() and re.match(r"(the )?file |write |safetensors file for", text.strip())
                if re.fullmatch(PATH_TYPES, kind) or writes:
                    found.add((command, flag))
        known = OUTPUTS | {(command, flag) for command, flags in INPUTS.items() for flag in flags}
        self.assertEqual(found - known, set(), "is it an output?")
        self.assertEqual(OUTPUTS - found, set())
        self.assertEqual({flag for flag in OUTPUTS if flag[1] != "stages"}, set(self.runs()))

    def test_no_source_opens_a_file_for_writing_but_the_class(self):
        for top in ("runtime", "compiler", "dialects", "passes", "tools"):
            for folder, _, names in os.walk(os.path.join(SOURCE, top)):
                for name in names:
                    path = os.path.relpath(os.path.join(folder, name), SOURCE)
                    if name.endswith((".cpp", ".h")) and path not in WRITERS and not path.startswith("tools/dev/"):
                        code = re.sub(r"//.*", "", read(os.path.join(SOURCE, path)).decode())
                        self.assertIsNone(OPENS.search(code), f"{path} opens a file without OutputFile")

    def test_no_output_is_an_input(self):
        folder, model = self.path("model"), self.path("model.so")
        shutil.copytree(self.bert, folder)
        shutil.copy(self.model, model)
        for key, (arguments, flag, inputs) in self.runs(folder, model).items():
            for index, path in enumerate(inputs):
                before, others = read(path), sorted(os.listdir(os.path.dirname(path)))
                names = [path]
                if index == len(inputs) - 1:
                    os.link(path, self.path("hard"))
                    os.symlink(path, self.path("soft"))
                    names += [self.path("hard"), self.path("soft")]
                for name in names:
                    with self.subTest(key=key, name=name):
                        self.fail_with(2, *arguments, flag, name, says="is also the ")
                        self.assertEqual(read(path), before)
                for name in names[1:]:
                    os.remove(name)
                self.assertEqual(sorted(os.listdir(os.path.dirname(path))), others)
        # Files in an output folder.
        for command, name in ((["compile", folder, "-q", "-o", self.path("m.so")], "3-kern.mlir"), (["verify", folder], "certificate.json")):
            os.mkdir(self.path("stages"))
            os.symlink(os.path.join(folder, "config.json"), os.path.join(self.path("stages"), name))
            before = read(os.path.join(folder, "config.json"))
            self.fail_with(2, *command, "--stages", self.path("stages"), says="is also the input")
            self.assertEqual(read(os.path.join(folder, "config.json")), before)
            self.assertFalse(os.path.exists(self.path("m.so")))
            shutil.rmtree(self.path("stages"))

    def test_inputs_that_are_streams_or_partial_files(self):
        with open(self.texts) as file:
            self.fail_with(2, "embed", self.model, "--file", "-", "-o", self.texts, stdin=file, says="'stdin' is also the output")
        # stdout, as `>>` opens it.
        for command in (["embed", self.model, "--file", self.texts], ["tokenize", self.model, "--file", self.texts]):
            with open(self.texts, "a") as file:
                done = subprocess.run([TOOL, *command], stdout=file, stderr=subprocess.PIPE, text=True, timeout=400)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
            self.assertIn("is also the output 'stdout'", done.stderr)
        os.rename(self.texts, self.path("out.partial"))
        self.fail_with(2, "embed", self.model, "--file", self.path("out.partial"), "-o", self.path("out"), says="is also the ")
        self.assertEqual(read(self.path("out.partial")), b"the cat\na big dog\n")
        # Two outputs: a file and stdout.
        with open(self.path("both"), "w") as file:
            done = subprocess.run([TOOL, *self.runs()["run", "out"][0], "--json", "--out", self.path("both")], stdout=file, stderr=subprocess.PIPE, text=True, timeout=400)
        self.assertEqual(done.returncode, 2, done.stderr)
        # The same file elsewhere is no conflict.
        self.succeed("embed", self.model, "--file", "/dev/null", "-o", "/dev/null")

    def test_nothing_old_is_lost_by_a_run_that_fails(self):
        old = write(self.path("old"), "old")
        bad = write(self.path("bad"), "the cat\n\xff\n")
        with open(bad, "wb") as file:
            file.write(b"the cat\n\xff\n")
        folder = self.path("model")
        shutil.copytree(self.bert, folder)
        write(os.path.join(folder, "config.json"), "{")
        failing = self.runs(folder)
        failing["embed", "output"] = (["embed", self.model, "--file", bad], "-o", [])
        failing["run", "out"] = (["run", self.model, "encode", "--in", bad], "--out", [])
        failing["attention", "output"] = (["attention", self.attention, "--text", "the cat", "--layers", "99"], "-o", [])
        failing["bench", "trace"] = (["bench", self.model, "--texts", bad], "--trace", [])
        for key, (arguments, flag, _) in failing.items():
            with self.subTest(key=key):
                self.assertNotEqual(self.tool(*arguments, flag, old).returncode, 0)
                self.assertEqual(read(old), b"old")
                self.assertFalse(os.path.exists(old + ".partial"))

    def test_a_full_disk_loses_nothing(self):
        old = write(self.path("old"), "old")
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (16, 16))
        for key, (arguments, flag, _) in self.runs().items():
            with self.subTest(key=key):
                self.fail_with(6, *arguments, flag, old, says="cannot write", preexec_fn=limit)
                self.assertEqual(read(old), b"old")
                self.assertFalse(os.path.exists(old + ".partial"))

    def test_two_writers_do_not_mix(self):
        out = self.path("out")
        with open(out + ".partial", "w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            for key, (arguments, flag, _) in self.runs().items():
                with self.subTest(key=key):
                    self.fail_with(6, *arguments, flag, out, says=f"another process is writing it and holds the lock on '{out}.partial'")
            self.fail_with(6, "embed", self.model, "--file", self.texts, "-o", out, "--resume", says="holds the lock")
        os.mkdir(self.path("stages"))
        for command, name in ((["compile", self.bert, "-q", "-o", out], "index.json"), (["verify", self.bert], "certificate.json")):
            with open(os.path.join(self.path("stages"), name + ".partial"), "w") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                self.fail_with(6, *command, "--stages", self.path("stages"), says="holds the lock")

    def test_devices_and_pipes_are_written_directly(self):
        before = sorted(os.listdir("/dev"))
        for key, (arguments, flag, _) in self.runs().items():
            with self.subTest(key=key):
                self.succeed(*arguments, flag, "/dev/null")
                self.assertTrue(stat.S_ISCHR(os.stat("/dev/null").st_mode))
                self.fail_with(6, *arguments, flag, "/dev/full", says="no space left on device")
                if key[0] == "bench":
                    continue  # a trace has times
                self.succeed(*arguments, flag, self.path("file"))
                environment = {**os.environ, "TRANSOM_OPT_LEVEL": "0", "TRANSOM_TARGET": "x86-64-v3"}
                piped = subprocess.run([TOOL, *arguments, flag, "/dev/stdout"], capture_output=True, timeout=400, env=environment)
                self.assertEqual(piped.returncode, 0, piped.stderr)
                self.assertEqual(piped.stdout, read(self.path("file")))
        # With several instruction sets, file names are derived from the output name; the listing is next to the output.
        for flags in (["--emit", "llvm-ir"], ["--emit", "obj"], ["--debug-info"]):
            self.succeed("compile", self.bert, "-q", "-o", "/dev/null", *flags, env={"TRANSOM_TARGET": "x86-64-v3,x86-64-v4"})
        self.assertEqual(sorted(os.listdir("/dev")), before)
        self.fail_with(2, "embed", self.model, "--file", self.texts, "-o", "/dev/null", "--resume", says="is a pipe or a device")

    def test_full_and_closed_streams(self):
        commands = [["--help"], ["--version"], ["compile", "--help"], ["embed", self.model, "--text", "the cat"], ["tokenize", self.model, "--text", "the"],
                    ["inspect", self.model], ["inspect", self.bert, "--json"], ["compile", self.bert, "--emit", "attn"], ["explain", self.bert, "--json"],
                    ["attention", self.attention, "--text", "the", "-o", "-"], ["run", self.model, "encode", "--in", self.tensors, "--out", self.path("o"), "--json"]]  # fmt: skip
        for command in commands:
            with self.subTest(command=command), open("/dev/full", "w") as full:
                done = subprocess.run([TOOL, *command], stdout=full, stderr=subprocess.PIPE, text=True, timeout=400)
                self.assertEqual((done.returncode, done.stderr), (6, "transom: error: cannot write to stdout: no space left on device\n"))
                done = subprocess.run([TOOL, *command], stderr=subprocess.PIPE, text=True, timeout=400, preexec_fn=lambda: os.close(1))
                self.assertEqual((done.returncode, done.stderr), (6, "transom: error: cannot write to stdout: bad file descriptor\n"))
        # Data for a closed stream is not written to an output.
        self.succeed("embed", self.model, "--file", self.texts, "-o", self.path("whole"))
        done = subprocess.run([TOOL, "embed", self.model, "--file", self.texts, "-o", self.path("closed"), "--progress", "json"],
                              timeout=400, preexec_fn=lambda: os.closerange(0, 3))  # fmt: skip
        self.assertEqual(done.returncode, 0)
        self.assertEqual(read(self.path("closed")), read(self.path("whole")))

    @unittest.skipUnless(os.geteuid() == 0, "needs to become another user")
    def test_permission_denied(self):
        def nobody():
            os.setgroups([])
            os.setresgid(65534, 65534, 65534)
            os.setresuid(65534, 65534, 65534)

        folder, closed = self.path("model"), self.path("closed")
        shutil.copytree(self.bert, folder)
        os.chmod(self.folder, 0o755)
        os.mkdir(closed, 0o700)
        shutil.copytree(self.bert, os.path.join(closed, "model"))
        denied = {"preexec_fn": nobody, "says": "permission denied"}
        self.fail_with(6, "compile", folder, "-q", "-o", self.path("m.so"), **denied)
        for name in ("config.json", "model.safetensors", "tokenizer.json"):
            os.chmod(os.path.join(folder, name), 0)
            for command in (["inspect", folder] if name != "tokenizer.json" else []), ["compile", folder, "--emit", "attn"]:
                if command:
                    self.fail_with(6, *command, **denied)
            os.chmod(os.path.join(folder, name), 0o644)
        for mode in (0, 0o444):
            os.chmod(folder, mode)
            self.fail_with(6, "compile", folder, "--emit", "attn", **denied)
            self.fail_with(6, "inspect", folder, **denied)
            self.fail_with(6, "inspect", os.path.join(folder, "config.json"), **denied)
        os.chmod(folder, 0o755)
        self.fail_with(6, "compile", os.path.join(closed, "model"), "--emit", "attn", **denied)
        self.fail_with(6, "embed", os.path.join(closed, "m.so"), "--text", "a", **denied)
        self.fail_with(6, "embed", self.model, "--file", os.path.join(closed, "texts"), **denied)


if __name__ == "__main__":
    unittest.main()
