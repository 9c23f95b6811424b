# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""transom generate, and the flags in `run ... generate`."""
import json
import os
import shutil
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from base import GOLDENS, QUICK, TOOL, goldens, set_weight, write_tensors  # noqa: E402
from decoders import BEGIN, END, DecoderTest, golden, golden_ids, golden_shape, ids_of, script, tokenizer  # noqa: E402


def listed(ids):
    return ",".join(map(str, ids))


class Generate(DecoderTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.ids = cls.compiled("gpt2")
        cls.text = cls.variant("gpt2", "text", tokenizer=tokenizer())

    def one(self, *arguments, **options):
        (line,) = self.lines("generate", *arguments, "--json", **options)
        return line

    def said(self, pieces, *flags):
        """Returns the line for a prompt after which the model generates these tokens."""
        return self.one(self.text, "-p", "Q", *script(ids_of(pieces)), *flags)

    # Ids, texts, streams.

    def test_ids_are_those_of_the_golden(self):
        for case in ("generate.0", "generate.1", "generate.2"):
            prompt = listed(golden_ids("gpt2", case))
            flags = (self.ids, "--ids", prompt, "-n", "32", "--ignore-eos")
            self.assertEqual(self.succeed("generate", *flags).stdout.strip(), listed(golden("gpt2", case)))
            line = self.one(*flags, "-t", "2")
            self.assertEqual(line["ids"], golden("gpt2", case))
            self.assertEqual(line["finish_reason"], "length")
            self.assertNotIn("text", line)

    def test_text(self):
        line = self.said(["the", "<|begin|>", "n", 0xE2, 0x82, 0xAC])
        self.assertEqual(line["text"], "then\u20ac")
        self.assertEqual(line["prompt"], "Q")
        self.assertEqual(line["prompt_tokens"], 1)
        self.assertEqual(line["ids"], ids_of(["the", "<|begin|>", "n", 0xE2, 0x82, 0xAC]))

    def test_streams_are_the_text(self):
        flags = script(ids_of(["the", "n", 0xE2, 0x82, 0xAC]))
        self.assertEqual(self.succeed("generate", self.text, "-p", "Q", *flags).stdout, "then\u20ac\n")
        two = self.succeed("generate", self.text, "-p", "Q", "-p", "R", *flags).stdout
        self.assertEqual(two, "then\u20ac\nthen\u20ac\n")

    def test_half_a_character_at_the_end(self):
        self.assertEqual(self.said(["a", 0xE2, 0x82])["text"], "a\ufffd")

    def test_times_go_to_stderr(self):
        result = self.succeed("generate", self.ids, "--ids", "5", "-n", "4", "-v")
        self.assertRegex(result.stderr, r"^transom: note: 1 tokens of the prompt in .* then 3 tokens in .*tokens/s\)\n$")

    # Ends.

    def test_end_tokens(self):
        line = self.said(["a", "<|end|>", "b"])
        self.assertEqual((line["text"], line["finish_reason"]), ("a", "end"))
        self.assertEqual(line["ids"], ids_of(["a", "<|end|>"]))
        line = self.said(["a", "<|end|>", "b"], "--ignore-eos")
        self.assertEqual((line["text"], line["finish_reason"]), ("ab", "length"))
        line = self.said(["a", "b", "c", "d"], "--eos-token-id", listed(ids_of(["c", "b"])))
        self.assertEqual((line["text"], line["finish_reason"]), ("ab", "end"))

    def test_least_number_of_tokens(self):
        line = self.said(["<|end|>", "b", "c"], "--min-new-tokens", "2")
        self.assertEqual(line["ids"], ids_of(["b", "c", "<|end|>"]))
        self.assertEqual(line["finish_reason"], "end")

    def test_stop_strings(self):
        line = self.said("xstopy", "--stop", "nothing", "--stop", "top")
        self.assertEqual((line["text"], line["finish_reason"]), ("xs", "stop"))
        self.assertEqual(line["ids"], ids_of("xstop"))
        line = self.said("xst", "--stop", "stop")
        self.assertEqual((line["text"], line["finish_reason"]), ("xst", "length"))
        stream = self.succeed("generate", self.text, "-p", "Q", *script(ids_of("xstop")), "--stop", "op")
        self.assertEqual(stream.stdout, "xst\n")

    def test_no_tokens(self):
        line = self.one(self.text, "-p", "Q", "-n", "0")
        self.assertEqual((line["text"], line["ids"], line["finish_reason"]), ("", [], "length"))

    # The context.

    def test_end_of_the_context(self):
        line = self.one(self.ids, "--ids", listed(range(3, 153)), "-n", "64", "--ignore-eos")
        self.assertEqual((len(line["ids"]), line["finish_reason"]), (10, "context"))
        result = self.succeed("generate", self.ids, "--ids", listed(range(3, 153)), "-n", "64", "--ignore-eos")
        self.assertEqual(result.stderr, "transom: note: 1 continuation ended at the end of the model's context\n")

    def test_prompts_longer_than_the_context(self):
        prompt = listed([*range(10, 200)])
        self.fail_with(5, "generate", self.ids, "--ids", prompt, says="190 tokens, more than the model's context of 160")
        cut = self.one(self.ids, "--ids", prompt, "-n", "20", "--ignore-eos", "--truncate-prompt")
        self.assertEqual(cut["prompt_tokens"], 140)
        kept = self.one(self.ids, "--ids", listed(range(60, 200)), "-n", "20", "--ignore-eos")
        self.assertEqual(cut["ids"], kept["ids"])
        result = self.succeed("generate", self.ids, "--ids", prompt, "-n", "2", "--truncate-prompt")
        self.assertEqual(result.stderr, "transom: note: 1 prompt was cut to the last tokens\n")

    def test_context_shift(self):
        prompt = [*range(10, 200)]
        line = self.one(self.ids, "--ids", listed(prompt), "-n", "100", "--ignore-eos", "--context-shift")
        self.assertEqual((len(line["ids"]), line["finish_reason"]), (100, "length"))
        first = self.one(self.ids, "--ids", listed(prompt[-80:]), "-n", "80", "--ignore-eos")
        self.assertEqual(line["ids"][:80], first["ids"])
        # At the 161st position: the last 80 again.
        again = (prompt + line["ids"])[: len(prompt) + 81][-80:]
        second = self.one(self.ids, "--ids", listed(again), "-n", "19", "--ignore-eos")
        self.assertEqual(line["ids"][81:], second["ids"])

    def test_no_context_and_no_end(self):
        model = self.compiled("bloom-alibi")
        flags = ("--ids", "5", "--eos-token-id", "5", "-n", "9223372036854775807")
        self.assertEqual(self.one(model, *flags)["finish_reason"], "end")

    # Sampling.

    def test_seeds(self):
        flags = (self.ids, "--ids", "5,6", "-n", "12", "--ignore-eos", "--temperature", "1.5")
        first = self.one(*flags)["ids"]
        self.assertEqual(self.one(*flags, "-t", "3")["ids"], first)
        self.assertEqual(self.one(*flags, "--seed", "0")["ids"], first)
        self.assertNotEqual(self.one(*flags, "--seed", "1")["ids"], first)

    def test_equal_continuations_are_told(self):
        flags = ("generate", self.ids, "--ids", "5,6", "-n", "6", "--ignore-eos", "--num-return-sequences", "3")
        greedy = self.succeed(*flags)
        self.assertEqual(len(set(greedy.stdout.split())), 1)
        self.assertRegex(greedy.stderr, r"^transom: note: the continuations of each prompt are equal; a higher '--temperature' .*\n$")
        hot = self.succeed(*flags, "--temperature", "5")
        self.assertEqual((len(set(hot.stdout.split())), hot.stderr), (3, ""))

    def test_temperature_zero_is_greedy_whatever_the_files_say(self):
        hot = self.variant("gpt2", "hot", generation_config={"do_sample": True, "temperature": 1.5})
        flags = ("--ids", "52", "-n", "32", "--ignore-eos")
        self.assertNotEqual(self.one(hot, *flags)["ids"], golden("gpt2", "generate.0"))
        self.assertEqual(self.one(hot, *flags, "--temperature", "0")["ids"], golden("gpt2", "generate.0"))
        self.assertEqual(self.one(hot, *flags, "--top-k", "1")["ids"], golden("gpt2", "generate.0"))
        self.assertEqual(self.one(hot, *flags, "--top-p", "0")["ids"], golden("gpt2", "generate.0"))
        self.assertEqual(self.one(hot, *flags, "--min-p", "1")["ids"], golden("gpt2", "generate.0"))

    def test_company_does_not_matter(self):
        prompts = [[5, 6], [9], [*range(20, 60)], [7, 7, 7]]
        flags = ("-n", "20", "--ignore-eos", "--temperature", "1.2", "--num-return-sequences", "2", "--seed", "3")
        path = self.path("prompts.jsonl")
        with open(path, "w") as file:
            for ids in prompts:
                file.write(json.dumps({"ids": ids}) + "\n")
        windowed = self.compiled("mistral-window", "--kv-dtype", "int8")
        for model in (self.ids, self.compiled("llama-gqa", "--dtype", "bf16"), windowed):
            together = self.lines("generate", model, "--file", path, "--json", *flags)
            self.assertEqual([(line["prompt_ids"], line["continuation"]) for line in together], [(ids, n) for ids in prompts for n in range(2)])
            alone = [line for ids in prompts for line in self.lines("generate", model, "--ids", listed(ids), "--json", "-t", "1", *flags)]
            self.assertEqual([line["ids"] for line in together], [line["ids"] for line in alone])
            self.assertNotEqual(together[0]["ids"], together[1]["ids"])

    def test_penalties(self):
        flags = (self.ids, "--ids", "52", "-n", "20", "--ignore-eos")
        self.assertEqual(len(set(self.one(*flags, "--presence-penalty", "1000")["ids"])), 20)
        self.assertNotIn(52, self.one(*flags, "--repetition-penalty", "1000")["ids"])
        grams = self.one(*flags, "--no-repeat-ngram-size", "2")["ids"]
        self.assertEqual(len(set(zip(grams, grams[1:]))), 19)
        self.assertNotIn(46, self.one(*flags, "--logit-bias", "46:-inf")["ids"])

    def test_log_probabilities(self):
        line = self.one(self.text, "-p", "the", "-n", "3", "--ignore-eos", "--top-logprobs", "4")
        self.assertEqual([len(line[key]) for key in ("ids", "logprobs", "top_logprobs")], [3, 3, 3])
        for token, logprob, top in zip(line["ids"], line["logprobs"], line["top_logprobs"]):
            self.assertEqual((len(top), top[0]["id"], top[0]["logprob"]), (4, token, logprob))
            self.assertEqual(sorted(top, key=lambda one: -one["logprob"]), top)
        # The same log-probabilities as in score.
        whole = listed(ids_of(["the"]) + line["ids"])
        (scored,) = self.lines("score", self.text, "--ids", whole)
        self.assertEqual(scored["logprobs"], line["logprobs"])
        self.assertNotIn("top_logprobs", self.one(self.text, "-p", "the", "-n", "3", "--top-logprobs", "0"))

    # The model's files.

    def test_files_and_flags(self):
        model = self.variant("gpt2", "files", generation_config={"max_new_tokens": 3, "eos_token_id": [46, 7]}, config={"bos_token_id": 52})
        self.assertEqual(self.one(model, "--ids", "52")["ids"], [46])
        self.assertEqual(self.one(model, "--ids", "52", "--eos-token-id", "1")["ids"], [46, 46, 146])
        self.assertEqual(self.one(model, "--ids", "52", "--ignore-eos", "-n", "5")["ids"], golden("gpt2", "generate.0")[:5])

    def test_config_json_counts_where_there_is_no_other_file(self):
        settings = {"num_beams": 3, "no_repeat_ngram_size": 1, "max_length": 7, "forced_eos_token_id": 9, "repetition_penalty": 3.0}
        beside = self.variant("gpt2", "beside", generation_config={"max_length": 6}, config=settings)
        self.assertEqual(self.one(beside, "--ids", "52", "--ignore-eos")["ids"], golden("gpt2", "generate.0")[:5])
        alone = self.one(beside, "--ids", "52")["ids"]
        self.assertEqual(alone, golden("gpt2", "generate.0")[:len(alone)])
        folder = os.path.join(self.shared, "gpt2-beside")
        ignored = self.path("ignored.so")
        self.succeed("compile", folder, "-o", ignored, "--ignore-generation-config")
        flags = ("--num-beams", "3", "--no-repeat-ngram-size", "1", "-n", "6", "--repetition-penalty", "3")
        plain = self.variant("gpt2", "plain", generation_config={"forced_eos_token_id": 9})
        self.assertEqual(self.one(ignored, "--ids", "52")["ids"], self.one(plain, "--ids", "52", *flags)["ids"])
        self.assertEqual(self.one(ignored, "--ids", "52")["ids"][-1], 9)

    def test_an_end_token_that_only_config_json_has(self):
        folder = self.path("end")
        shutil.copytree(os.path.join(GOLDENS, "gpt2"), folder)
        for name, keys in (("generation_config.json", {"max_new_tokens": 3}), ("config.json", {"eos_token_id": 46})):
            path = os.path.join(folder, name)
            with open(path) as file:
                content = {**json.load(file), **keys}
            content.pop("eos_token_id") if name != "config.json" else None
            with open(path, "w") as file:
                json.dump(content, file)
        said = self.succeed("compile", folder, "-o", self.path("end.so")).stderr
        self.assertIn("config.json: 'eos_token_id' ends texts, since generation_config.json has none", said)
        self.assertEqual(self.one(self.path("end.so"), "--ids", "52")["ids"], [46])

    def test_files_that_ask_for_several(self):
        model = self.variant("gpt2", "several", generation_config={"num_return_sequences": 2, "do_sample": True, "temperature": 5.0})
        flags = ("generate", model, "--ids", "52", "-n", "3", "--ignore-eos")
        lines = self.lines(*flags, "--json")
        self.assertEqual([line["continuation"] for line in lines], [0, 1])
        self.assertEqual(self.succeed(*flags).stdout, "".join(listed(line["ids"]) + "\n" for line in lines))
        self.assertEqual(self.succeed(*flags, "--num-return-sequences", "1").stdout, listed(lines[0]["ids"]) + "\n")

    def test_an_empty_prompt_begins(self):
        begun = self.one(self.ids, "--ids", str(BEGIN), "-n", "4")["ids"]
        self.assertEqual(self.one(self.ids, "--ids", "", "-n", "4")["ids"], begun)
        self.assertEqual(self.one(self.text, "-p", "", "-n", "4")["ids"], begun)
        bare = self.variant("gpt2", "no-begin", without=["bos_token_id"], generation_config={}, config={})
        self.fail_with(3, "generate", bare, "--ids", "", says="prompt 0 is empty, and the model has no begin token")

    def test_what_is_not_supported(self):
        self.fail_with(4, "generate", self.ids, "--ids", "5", "--num-beams", "4", "--temperature", "0.5", says="sampling with 'num_beams' 4 is not supported")
        self.fail_with(4, "generate", self.ids, "--ids", "5", "--num-beams", "4", "--json", "--top-logprobs", "2", says="log-probabilities of tokens with 'num_beams' 4")
        model = self.variant("gpt2", "contrastive", generation_config={"penalty_alpha": 0.6, "top_k": 4})
        self.fail_with(4, "generate", model, "--ids", "5", says="'penalty_alpha' 0.6")
        self.fail_with(4, "generate", self.ids, "-p", "hello", says="the model has no tokenizer")
        self.fail_with(4, "generate", self.ids, "--ids", "5", "--stop", "x", says="stop strings need a tokenizer")
        self.fail_with(4, "generate", self.compiled("bert"), "--ids", "5", says="the model does not generate")

    # Bad input.

    def test_prompts_that_are_rejected(self):
        self.fail_with(3, "generate", self.ids, "--ids", "5,211", says="id 211 at position 1 lies outside the vocabulary of 211")
        self.fail_with(3, "generate", self.ids, "--ids", "-1", says="id -1 at position 0")
        self.fail_with(3, "generate", self.ids, "--ids", "5", "--logit-bias", "211:1", says="logit bias: id 211 lies outside the vocabulary of 211")
        self.fail_with(6, "generate", self.shared, "--ids", "5", says="is a folder, expected a compiled model")
        self.fail_with(3, "generate", self.text, "-p", b"a\xff", says="UTF-8")
        self.fail_with(3, "generate", self.text, "-p", "a", "--stop", b"\xff", says="stop string 0 is not UTF-8")

    def test_usage(self):
        for flags, says in (
            ([], "no prompt was given"),
            (["-p", "a", "--ids", "1"], "exclude each other"),
            (["-p", "a", "--threads", "0"], "'--threads': expected a whole number, 1 to 1024, got '0'"),
            (["-p", "a", "--ids", "x"], ""),
            (["--ids", "1;2"], "whole numbers with commas"),
        ):
            self.fail_with(2, "generate", self.text, *flags, says=says)

    def poisoned(self, model, tensor, index, value):
        """Returns the artifact for a golden decoder with one weight element set to this value."""
        name = f"{tensor}-{index}"
        os.remove(self.variant(model, name))
        folder = os.path.join(self.shared, f"{model}-{name}")
        set_weight(folder, tensor, index, value)
        return self.compiled(folder)

    def test_weights_that_are_no_numbers(self):
        queries, norm = "transformer.h.0.attn.c_attn.weight", "transformer.ln_f.weight"
        # In c_attn's [in, 3 * in] the first column belongs to a query; keys follow, then values.
        width = golden_shape("gpt2", queries)[0]
        for tensor, index, value in (
            (norm, 0, float("nan")),
            (queries, 0, float("nan")),
            (queries, width, float("nan")),
            (queries, 2 * width, float("inf")),
        ):
            broken = self.poisoned("gpt2", tensor, index, value)
            self.fail_with(3, "generate", broken, "--ids", "5,6,7", says="prompt 0: non-finite logit at position 2: the weights or the input give NaN")
            self.fail_with(3, "score", broken, "--ids", "5,6,7", says="the text: non-finite logit at position 0")
            os.remove(broken)

    def test_interrupted(self):
        process = subprocess.Popen(
            [TOOL, "generate", self.ids, "--ids", "5", "-n", "1000000000", "--ignore-eos", "--context-shift"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **QUICK},
        )
        begun = process.stdout.read(8)
        process.send_signal(signal.SIGINT)
        out, words = process.communicate(timeout=400)
        self.assertEqual(process.returncode, 130)
        self.assertEqual(words, "transom: error: interrupted\n")
        self.assertTrue((begun + out).endswith("\n"))

    # The entry.

    def test_run_generate(self):
        source, out = self.path("in.safetensors"), self.path("out.safetensors")
        write_tensors(source, {"input_ids": ("I64", [2, 3], [52, 0, 0, 5, 6, 7]), "attention_mask": ("I64", [2, 3], [1, 0, 0, 1, 1, 1])})
        flags = ("run", self.ids, "generate", "--in", source, "--out", out, "-n", "6")
        self.succeed(*flags, "--num-return-sequences", "3", "--temperature", "1", "--ignore-eos")
        shape, values = goldens.read_tensors(out)["output_ids"]
        self.assertEqual(shape, [6, 6])
        expected = []
        for ids in ("52", "5,6,7"):
            for line in self.lines("generate", self.ids, "--ids", ids, "-n", "6", "--ignore-eos", "--num-return-sequences", "3", "--temperature", "1", "--json"):
                expected += line["ids"]
        self.assertEqual(list(values), expected)
        # The first row ends at once; the fill is the first end token, or the pad token.
        self.succeed(*flags, "--eos-token-id", "46,1")
        shape, values = goldens.read_tensors(out)["output_ids"]
        self.assertEqual((shape, list(values[:6])), ([2, 6], [46] * 6))
        padded = self.variant("gpt2", "padded", generation_config={"pad_token_id": 9})
        self.succeed("run", padded, *flags[2:], "--eos-token-id", "46,1")
        self.assertEqual(list(goldens.read_tensors(out)["output_ids"][1][:6]), [46, 9, 9, 9, 9, 9])
        # Beams have scores, too.
        self.succeed(*flags, "--num-beams", "3", "--num-return-sequences", "2", "--length-penalty", "0.5")
        tensors = goldens.read_tensors(out)
        self.assertEqual(tensors["scores"][0], [4])
        for row, ids in ((0, "52"), (2, "5,6,7")):
            lines = self.lines("generate", self.ids, "--ids", ids, "-n", "6", "--num-beams", "3", "--num-return-sequences", "2", "--length-penalty", "0.5", "--json")
            self.assertEqual([line["score"] for line in lines], list(tensors["scores"][1][row : row + 2]))
            self.assertGreater(lines[0]["score"], lines[1]["score"])
            self.assertNotEqual(lines[0]["ids"], lines[1]["ids"])
        self.fail_with(2, *flags, "--num-beams", "2", "--num-return-sequences", "3", says="'num_return_sequences' 3 is more than 'num_beams' 2")
        logits = ("run", self.ids, "logits", "--in", source, "--out", out)
        self.fail_with(2, *logits, "--top-k", "2", says="'--top-k' is a flag of the entry 'generate', not of 'logits'")
        self.succeed(*logits, env={"TRANSOM_TOP_K": "2"})
        write_tensors(source, {"ids": ("I64", [1, 1], [5])})
        self.fail_with(3, *flags, says="input_ids")


if __name__ == "__main__":
    unittest.main()
