# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stage options: types, disabled passes, modules that are parsed again."""
import json
import os
import re
import unittest

from compiles import ALL_TARGETS, BERT, CompileTest, SOURCE

LLAMA = os.path.join(SOURCE, "test", "goldens", "llama-gqa")


class CompileModule(CompileTest):
    def test_dtype(self):
        self.succeed("compile", BERT, "-q", "-O0", "--dtype", "bf16", "-o", self.path("m.so"), *ALL_TARGETS)
        found = json.loads(self.succeed("inspect", self.path("m.so"), "--json").stdout)
        self.assertEqual(found["dtype"], "bf16")
        self.assertEqual(found["options"]["dtype"], "bf16")
        self.assertEqual(found["isas"], ["avx2", "avx512", "avx512bf16", "amx"])
        # The flag's environment variable gives the same code.
        bf16 = self.succeed("compile", BERT, "--emit", "kern", "--dtype", "bf16").stdout
        self.assertIn("bf16, panels32", " ".join(bf16.split()))
        self.assertEqual(self.succeed("compile", BERT, "--emit", "kern", env={"TRANSOM_DTYPE": "bf16"}).stdout, bf16)
        self.assertNotIn("bf16", self.succeed("compile", BERT, "--emit", "kern").stdout)

    def test_quantized_weights(self):
        self.succeed("compile", BERT, "-q", "-O0", "--quantize", "int8", "--group-size", "32", "-o", self.path("m.so"), *ALL_TARGETS)
        found = json.loads(self.succeed("inspect", self.path("m.so"), "--json").stdout)
        self.assertEqual(found["options"]["quantize"], "int8")
        self.assertEqual(found["options"]["group-size"], "32")
        self.assertEqual(found["isas"], ["avx2", "avxvnni", "avx512", "avx512vnni", "amx"])
        kern = self.succeed("compile", BERT, "--emit", "kern", "--quantize", "int8").stdout
        self.assertIn("#kern.format<i8, group 128, scales f16, interleave 4>", kern)
        # A stage that was written so goes on so alone.
        self.succeed("compile", BERT, "-q", "-O0", "--quantize", "int8", "--stages", self.path("stages"), "-o", self.path("n.so"))
        says = self.fail_with(2, "compile", BERT, "--resume-from", self.path("stages/kern"), "-o", self.path("o.so"))
        self.assertIn("was compiled with '--quantize int8' and '--group-size 128', this compile is without '--quantize'", says)

    def test_heads_and_tables_have_their_own_formats(self):
        def find_formats(*flags):
            """Returns the formats for the head's weight and the token table in the plan."""
            text = self.succeed("compile", LLAMA, "--emit", "kern", *flags).stdout
            types = dict(line.split(" = ", 1) for line in re.sub(r"\n +", " ", text).splitlines() if line.startswith("!"))

            def find(name):
                kind = types[re.search(rf': (!\S+) =\s+#weight\.expr<[^>]*file\("{name}"\)', text).group(1)]
                return kind[kind.index(" x ") + 3 :].split(",")[0].removeprefix("#kern.format<") + (", group " + kind.split("group ")[1].split(",")[0] if "group" in kind else "")
            return find("lm_head.weight"), find("model.embed_tokens.weight")
        for flags, formats in (
            ((), ("f32", "f32")),
            (("--quantize", "int8"), ("i8, group 128", "i8, group 128")),
            (("--quantize", "int4"), ("i4, group 32", "i8, group 128")),
            (("--quantize", "int4", "--quantize-head", "int8", "--quantize-embeddings", "none"), ("i8, group 128", "f32")),
            (("--quantize", "int8", "--quantize-head", "none", "--quantize-embeddings", "int4"), ("f32", "i4, group 32")),
            (("--quantize", "int4", "--group-size", "64", "--quantize-head", "int8"), ("i8, group 64", "i8, group 64")),
        ):
            with self.subTest(flags=flags):
                self.assertEqual(find_formats(*flags), formats)
        # The manifest contains the flags, and resuming from a stage uses only these.
        flags = ("--quantize", "int8", "--quantize-head", "none", "--quantize-embeddings", "int4")
        self.succeed("compile", LLAMA, "-q", "-O0", *flags, "--stages", self.path("stages"), "-o", self.path("n.so"))
        options = json.loads(self.succeed("inspect", self.path("n.so"), "--json").stdout)["options"]
        self.assertEqual((options["quantize-head"], options["quantize-embeddings"]), ("none", "int4"))
        for other, says in ((flags[:2] + flags[4:], "with '--quantize-head none', this compile is without '--quantize-head'"),
                            (flags[:4], "with '--quantize-embeddings int4' and '--group-size 32', this compile is with '--quantize-embeddings int8' and '--group-size 128'")):
            self.fail_with(2, "compile", LLAMA, "--resume-from", self.path("stages/kern"), "-o", self.path("o.so"), *other, says=says)

    def test_llvm_ir_reads_back(self):
        self.succeed("compile", BERT, "-o", self.path("m.so"), "--check-stages", "-q")

    def test_disabled_pass_is_recorded(self):
        self.compile("--disable-pass", "attn-fuse-attention")
        self.succeed("compile", "-q", "-O0", "-o", self.path("cse.so"), "--target", "x86-64-v3", "--disable-pass", "cse", BERT)
        found = json.loads(self.succeed("inspect", self.path("m.so"), "--json").stdout)
        self.assertEqual(found["disabled_passes"], ["attn-fuse-attention"])
        self.fail_with(2, "compile", BERT, "-o", self.path("n.so"), "--disable-pass", "attn-fuse-atention", says="did you mean 'attn-fuse-attention'?")
        self.fail_with(2, "compile", BERT, "-o", self.path("n.so"), "--disable-pass", "kern-plan-memory", says="cannot be disabled")

    def test_passes_that_cannot_be_left_out(self):
        says = self.fail_with(2, "compile", BERT, "-o", self.path("m.so"), "--disable-pass", "attn-fuse-attentio", says="did you mean 'attn-fuse-attention'?")
        self.assertIn("attn-fuse-projections", says)
        says = self.fail_with(2, "compile", BERT, "-o", self.path("m.so"), "--disable-pass", "kern-plan-memory", says="cannot be disabled")
        self.assertIn("attn-fuse-attention", says)


if __name__ == "__main__":
    unittest.main()
