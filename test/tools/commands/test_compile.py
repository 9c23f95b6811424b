# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""compile: stages, outputs that appear complete or not at all, limits."""
import json
import os
import pty
import re
import resource
import shutil
import signal
import struct
import subprocess
import time
import unittest

from base import ALL_TARGETS, GOLDENS, QUICK, TOOL, ToolTest, write_tensors

BERT = os.path.join(GOLDENS, "bert")


class Compile(ToolTest):
    def compile(self, *flags, name="m.so", **options):
        """Compiles for one instruction set, which is quicker."""
        return self.succeed("compile", BERT, "-q", "-o", self.path(name), "--target", "x86-64-v3", *flags, **options)

    def test_text_stages_go_to_stdout(self):
        says = {"attn": "attn.softmax", "attn-opt": "attn.sdpa", "kern": "kern.gemm", "llvm-ir": "define void @transom.p.avx2.", "asm": ".globl\ttransom.p.avx2."}
        for stage, text in says.items():
            output = self.succeed("compile", BERT, "--emit", stage, "--target", "x86-64-v3").stdout
            self.assertIn(text, output, stage)

    def test_stages_keep_locations(self):
        located = self.succeed("compile", BERT, "--emit", "attn", "--emit-locations").stdout
        self.assertIn('fused<"encoder.layer.0.attention.self">', located)

    def test_stages_for_reading(self):
        text = self.succeed("compile", BERT, "--emit", "attn-opt").stdout
        self.assertNotIn("loc(", text)
        wide = [line for line in text.splitlines() if len(line) > 100 and " " in line.strip()]
        self.assertEqual([line for line in wide if '"' not in line], [])
        located = self.succeed("compile", BERT, "--emit", "attn-opt", "--emit-locations").stdout
        self.assertIn('loc(fused<"encoder.layer.{0-', located.replace("\n", ""))

    def test_objects_of_each_instruction_set(self):
        self.succeed("compile", BERT, "--emit", "obj", "-o", self.path("m.o"), *ALL_TARGETS)
        self.assertEqual(sorted(os.listdir(self.folder)), ["m.avx2.o", "m.avx512.o"])
        self.succeed("compile", BERT, "--emit", "obj", "-o", self.path("one.o"), "--target", "x86-64-v3")
        self.assertIn("one.o", os.listdir(self.folder))
        self.fail_with(2, "compile", BERT, "--emit", "obj", says="output")

    def test_dtype(self):
        self.succeed("compile", BERT, "-q", "-O0", "--dtype", "bf16", "-o", self.path("m.so"), *ALL_TARGETS)
        found = json.loads(self.succeed("inspect", self.path("m.so"), "--json").stdout)
        self.assertEqual(found["dtype"], "bf16")
        self.assertEqual(found["options"]["dtype"], "bf16")
        self.assertEqual(found["isas"], ["avx2", "avx512", "avx512bf16"])
        # The twin in the environment gives the same code.
        bf16 = self.succeed("compile", BERT, "--emit", "kern", "--dtype", "bf16").stdout
        self.assertIn("bf16, panels32", " ".join(bf16.split()))
        self.assertEqual(self.succeed("compile", BERT, "--emit", "kern", env={"TRANSOM_DTYPE": "bf16"}).stdout, bf16)
        self.assertNotIn("bf16", self.succeed("compile", BERT, "--emit", "kern").stdout)

    def test_dtype_of_a_cache_needs_a_decoder(self):
        self.fail_with(2, "compile", BERT, "-o", self.path("m.so"), "--kv-dtype", "bf16", says="'--kv-dtype' needs a decoder")
        self.assertEqual(os.listdir(self.folder), [])

    def test_unused_tensors_are_noted(self):
        folder = self.path("model")
        shutil.copytree(BERT, folder)
        first, second = "model-1.safetensors", "model-2.safetensors"
        os.rename(os.path.join(folder, "model.safetensors"), os.path.join(folder, first))
        extra = {f"extra.{i}": ("F32", [2], [1.0, 2.0]) for i in range(4)}
        write_tensors(os.path.join(folder, second), extra)
        with open(os.path.join(folder, first), "rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            used = json.loads(file.read(length))
        used.pop("__metadata__", None)
        with open(os.path.join(folder, "model.safetensors.index.json"), "w") as file:
            json.dump({"weight_map": {**dict.fromkeys(used, first), **dict.fromkeys(extra, second)}}, file)
        says = self.succeed("compile", folder, "-o", self.path("m.so")).stderr
        self.assertIn("transom: note: 4 tensors are not used: 'extra.0', 'extra.1', 'extra.2', ...", says)

    def test_ends_with_one_line_on_a_terminal(self):
        leader, follower = pty.openpty()
        with os.fdopen(leader, "rb", buffering=0) as terminal:
            done = subprocess.run([TOOL, "compile", BERT, "-o", self.path("m.so")], stderr=follower, timeout=400, env={**os.environ, **QUICK})
            os.close(follower)
            self.assertEqual(done.returncode, 0)
            lines = terminal.read(1 << 16).decode().replace("\r\n", "\n").split("\n")
        self.assertRegex(lines[-2], r"transom: wrote '.*m\.so': [\d.]+ [KM]iB, [\d.]+ s, code for avx2$")
        self.assertNotIn("wrote", self.succeed("compile", BERT, "-o", self.path("m.so")).stderr)

    def test_temporary_names_of_others_are_left_alone(self):
        with open(self.path(".m.so.tmp"), "w") as file:
            file.write("mine")
        self.succeed("compile", BERT, "-q", "-o", self.path("m.so"))
        with open(self.path(".m.so.tmp")) as file:
            self.assertEqual(file.read(), "mine")

    def test_llvm_ir_reads_back(self):
        self.succeed("compile", BERT, "-o", self.path("m.so"), "--check-stages", "-q")

    def test_compiles_are_reproducible(self):
        for name in ("a.so", "b.so"):
            self.succeed("compile", BERT, "-o", self.path(name), "-q", "--jobs", "1" if name == "a.so" else "2")
        with open(self.path("a.so"), "rb") as a, open(self.path("b.so"), "rb") as b:
            self.assertEqual(a.read(), b.read())

    def test_disabled_pass_is_recorded(self):
        self.compile("--disable-pass", "attn-fuse-attention")
        self.succeed("compile", "-q", "-O0", "-o", self.path("cse.so"), "--target", "x86-64-v3", "--disable-pass", "cse", BERT)
        found = json.loads(self.succeed("inspect", self.path("m.so"), "--json").stdout)
        self.assertEqual(found["disabled_passes"], ["attn-fuse-attention"])
        self.fail_with(2, "compile", BERT, "-o", self.path("n.so"), "--disable-pass", "attn-fuse-atention", says="did you mean 'attn-fuse-attention'?")
        self.fail_with(2, "compile", BERT, "-o", self.path("n.so"), "--disable-pass", "kern-plan-memory", says="cannot be disabled")

    def test_progress_as_json(self):
        result = self.compile("--progress", "json")
        stages = [json.loads(line)["stage"] for line in result.stderr.splitlines()]
        self.assertEqual(stages[0], "import")
        self.assertEqual(stages[-1], "weights")
        # Within a stage it counts up to its end.
        plan = [json.loads(line) for line in result.stderr.splitlines() if '"plan"' in line]
        self.assertGreater(len(plan), 3)
        self.assertEqual([line["done"] for line in plan], list(range(len(plan))))
        self.assertTrue(all(line["done"] < line["total"] for line in plan[1:]))
        # So does the lowering, up to all passes of all instruction sets.
        lower = [json.loads(line) for line in result.stderr.splitlines() if '"lower"' in line]
        self.assertEqual([line["done"] for line in lower], list(range(len(lower))))
        self.assertEqual(lower[-1]["done"], lower[-1]["total"])

    def test_progress_of_code_counts_functions(self):
        result = self.succeed("compile", BERT, "-o", self.path("m.so"), "-O2", "--progress", "json", "--target", "x86-64-v4")
        code = [json.loads(line) for line in result.stderr.splitlines() if '"code"' in line]
        counts = [line["done"] for line in code[1:]]
        self.assertEqual(counts, sorted(counts))
        self.assertGreater(counts[-1], 0)
        self.assertEqual(counts[-1], code[-1]["total"])

    def test_report_as_json(self):
        report = json.loads(self.compile("--json").stdout)
        self.assertEqual(report["written"], [self.path("m.so")])
        self.assertGreater(report["parameters"], 0)
        self.assertEqual(list(report["seconds"])[0], "import")
        (code,) = report["code"]
        self.assertEqual(code["isa"], "avx2")
        for count in ("phases", "kernels", "bytes"):
            self.assertGreater(code[count], 0)

    def test_verbose_tells_what_code_there_is(self):
        says = self.succeed("compile", BERT, "-v", "-o", self.path("m.so"), "--target", "aarch64").stderr
        self.assertRegex(says, r"transom: neon: \d+ phases, \d+ micro-kernels, \d+ bytes of code")

    def test_stdout_as_output(self):
        text = self.succeed("compile", BERT, "--emit", "attn").stdout
        self.assertEqual(self.succeed("compile", BERT, "--emit", "attn", "-o", "-").stdout, text)
        for stage in ("so", "obj"):
            self.fail_with(2, "compile", BERT, "--emit", stage, "-o", "-", says="stdout")
        self.assertFalse(os.path.exists("-"))

    def test_passes_that_cannot_be_left_out(self):
        says = self.fail_with(2, "compile", BERT, "-o", self.path("m.so"), "--disable-pass", "attn-fuse-attentio", says="did you mean 'attn-fuse-attention'?")
        self.assertIn("attn-fuse-projections", says)
        says = self.fail_with(2, "compile", BERT, "-o", self.path("m.so"), "--disable-pass", "kern-plan-memory", says="cannot be disabled")
        self.assertIn("attn-fuse-attention", says)

    def test_quick_code_gives_the_same_bits(self):
        results = []
        for level in ("0", "2"):
            model, out = self.path(f"m{level}.so"), self.path(f"out{level}.safetensors")
            self.succeed("compile", BERT, "-q", "-o", model, f"-O{level}")
            self.succeed("run", model, "encode", "--in", os.path.join(BERT, "encode.1.in.safetensors"), "--out", out)
            with open(out, "rb") as file:
                results.append(file.read())
        self.assertEqual(results[0], results[1])
        options = json.loads(self.succeed("inspect", self.path("m0.so"), "--json").stdout)["options"]
        self.assertEqual(options["opt-level"], "0")
        self.fail_with(2, "compile", BERT, "-q", "-o", self.path("m.so"), "-O1")

    def test_memory_limit_refuses(self):
        self.fail_with(5, "compile", BERT, "-o", self.path("m.so"), "--mem-limit", "1M", says="--mem-limit")
        self.assertEqual(os.listdir(self.folder), [])

    def test_output_that_cannot_be_written(self):
        self.fail_with(6, "compile", BERT, "-q", "-o", self.path("none/m.so"), says="none")
        os.mkdir(self.path("taken.so"))
        self.fail_with(6, "compile", BERT, "-q", "-o", self.path("taken.so"), says="taken.so")

    def test_full_disk_leaves_nothing(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))

        self.fail_with(6, "compile", BERT, "-q", "-o", self.path("m.so"), says="cannot write", preexec_fn=limit)
        self.assertEqual(os.listdir(self.folder), [])

    def test_failure_keeps_the_old_file(self):
        self.compile()
        with open(self.path("m.so"), "rb") as file:
            before = file.read()
        self.fail_with(5, "compile", BERT, "-o", self.path("m.so"), "--mem-limit", "1M")
        with open(self.path("m.so"), "rb") as file:
            self.assertEqual(file.read(), before)

    def test_killed_compile_leaves_nothing(self):
        for sent in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT):
            for delay in (0.05, 0.2):
                process = subprocess.Popen([TOOL, "compile", BERT, "-q", "-o", self.path("m.so"), "--target", "x86-64-v3"], stderr=subprocess.DEVNULL)
                time.sleep(delay)
                process.send_signal(sent)
                code = process.wait(timeout=400)
                self.assertIn(code, (0, -sent, 128 + sent))
                self.assertEqual(os.listdir(self.folder), ["m.so"] if code == 0 else [])
                if code == 0:
                    os.remove(self.path("m.so"))

    def test_kernels_are_named(self):
        asm = self.succeed("compile", BERT, "--emit", "asm", *ALL_TARGETS).stdout
        self.assertTrue(re.search(r"transom\.k\.avx512\.f32\.\d+x\d+", asm))


if __name__ == "__main__":
    unittest.main()
