# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""embed: one JSON line with the embedding for each text."""
import json
import math
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from base import GOLDENS  # noqa: E402
from texts import TextsTest, tokenizer  # noqa: E402


class Embed(TextsTest):
    def test_embeddings_are_the_same_alone_and_together(self):
        texts = ["the cat sat on a mat", "", "a big dog", "cat " * 30]
        alone = [self.lines("embed", self.models["bert"], "--text", text)[0] for text in texts]
        for threads in ("1", "2"):
            together = self.lines("embed", self.models["bert"], "-", "-t", threads, input="\n".join(texts))
            self.assertEqual([line["embedding"] for line in together], [line["embedding"] for line in alone])
        for line in alone:
            self.assertAlmostEqual(math.hypot(*line["embedding"]), 1, places=5)

    def test_pooling_and_length(self):
        flags = {name: self.lines("embed", self.models["bert"], "--text", "the cat sat", *values)[0]["embedding"] for name, values in {"mean": [], "cls": ["--pooling", "cls"], "raw": ["--no-normalize"]}.items()}
        self.assertNotEqual(flags["mean"], flags["cls"])
        length = math.hypot(*flags["raw"])
        for raw, mean in zip(flags["raw"], flags["mean"]):
            self.assertAlmostEqual(raw / length, mean, places=5)

    def with_pipeline(self, folder, *names, **files):
        """Compiles a golden encoder with modules that have these classes, each in a separate folder."""
        modules = [{"idx": i, "name": str(i), "path": f"{i}_{name}" if i else "", "type": f"sentence_transformers.models.{name}"}
                   for i, name in enumerate(("Transformer",) + names)]
        files.setdefault("1_Pooling/config", {"word_embedding_dimension": 64, "pooling_mode_mean_tokens": True})
        return self.with_tokenizer("bert", folder, modules=modules, **files)

    def test_folder_says_how_to_embed(self):
        model = self.with_pipeline("st", "Pooling", sentence_bert_config={"max_seq_length": 4, "do_lower_case": False})
        result = self.succeed("embed", model, "--text", "the cat sat on a mat", "--text", "cat")
        self.assertIn("1 text was cut to the model's 4 tokens", result.stderr)
        described = self.succeed("inspect", model).stdout
        for line in ("text limit         4 tokens", "pooling            mean", "normalization      no"):
            self.assertIn(line, described)
        self.assertEqual(json.loads(self.succeed("inspect", model, "--json").stdout)["text"], {
            "max_tokens": 4, "pooling": "mean", "normalize": False, "pipeline": {"entry": "embed", "prompts": {"query": "", "document": ""}}})
        self.assertEqual(self.succeed("embed", model, "-q", "--text", "the cat sat on a mat").stderr, "")

    def test_flags_of_pipelines(self):
        model = self.with_pipeline("flags", "Pooling", "Normalize", config_sentence_transformers={
            "prompts": {"query": "the cat "}, "default_prompt_name": "query", "similarity_fn_name": "cosine"})
        described = self.succeed("inspect", model).stdout
        for line in ("embeddings         entry 'embed'", "similarity         cosine", "prompt query       'the cat ', the default"):
            self.assertIn(line, described)
        prompted = self.lines("embed", model, "--text", "sat")
        self.assertEqual(prompted[0]["embedding"], self.lines("embed", model, "--text", "the cat sat", "--prompt", "")[0]["embedding"])
        self.assertEqual(prompted, self.lines("embed", model, "--text", "sat", "--prompt-name", "query"))
        cut = self.lines("embed", model, "--text", "sat", "--dim", "3")[0]["embedding"]
        self.assertEqual(len(cut), 3)
        self.assertAlmostEqual(math.hypot(*cut), 1, places=5)
        for flags, message in {
                ("--pooling", "mean"): "the model's pipeline says how tokens are pooled; pooling cannot be chosen",
                ("--no-normalize",): "the model's pipeline says whether embeddings are normalized; that can be chosen with a dim only",
                ("--prompt-name", "passage"): "the model has no prompt 'passage'; it has: query, document",
                ("--prompt", "a", "--prompt-name", "query"): "'--prompt' and '--prompt-name' are one too many",
                ("--dim", "65"): "embeddings have 64 numbers, fewer than the dim of 65",
                ("--precision", "int8"): "int8 needs the ranges of the numbers, or 2 or more embeddings to take them from, got 1",
                ("--top-k", "3"): "'--top-k' is for sparse embeddings; the model's are dense"}.items():
            self.fail_with(2, "embed", model, "--text", "sat", *flags, says=message)

    def chunk_words(self, model, words, room, overlap, *flags):
        """Returns the mean over the embeddings of windows with `room` one-token words each, before scaling."""
        starts = range(0, max(len(words) - overlap, 1), room - overlap)
        windows = [words[start:start + room] for start in starts]
        vectors = [self.lines("embed", model, "--text", " ".join(window), *flags)[0]["embedding"] for window in windows]
        total = sum(map(len, windows))
        return [math.fsum(len(window) * x for window, x in zip(windows, column)) / total for column in zip(*vectors)]

    def test_chunks(self):
        words = "the cat sat on a mat the big dog sat on the cat".split()
        text = " ".join(words)
        plain = self.with_pipeline("chunks", "Pooling", config_sentence_transformers={"prompts": {"query": "the cat "}})
        scaled = self.with_pipeline("chunks-scaled", "Pooling", "Normalize")
        for model, size, overlap, flags, added in ((plain, 6, 0, (), 2), (plain, 7, 2, (), 2), (scaled, 5, 1, (), 2),
                                                   (plain, 8, 1, ("--prompt-name", "query"), 4), (scaled, 6, 0, ("--dim", "9"), 2)):
            chunk = ("--chunk", str(size), "--overlap", str(overlap), *flags)
            got = self.lines("embed", model, "--text", text, *chunk)[0]["embedding"]
            wanted = self.chunk_words(model, words, size - added, overlap, *(() if "--dim" in flags else flags))
            wanted = wanted[:9] if "--dim" in flags else wanted
            length = math.hypot(*wanted) if model == scaled else 1
            for x, y in zip(got, wanted, strict=True):
                self.assertAlmostEqual(x, y / length, delta=1e-6, msg=chunk)
            # Any batch, also with texts that fit, which keep their bits.
            lines = self.lines("embed", model, "-", *chunk, input=f"the cat\n{text}\n\n{text} dog\n{text}\n")
            self.assertEqual([lines[1]["embedding"], lines[4]["embedding"]], [got, got])
            self.assertEqual(lines[0], self.lines("embed", model, "--text", "the cat", *flags)[0])
            self.assertEqual(lines[2], self.lines("embed", model, "--text", "", *flags)[0])

    def test_chunks_that_make_no_sense(self):
        model = self.models["bert"]
        self.fail_with(2, "embed", model, "--text", "a", "--overlap", "2", says="an overlap needs a chunk")
        self.fail_with(2, "embed", model, "--text", "a", "--chunk", "0", says="--chunk")
        self.fail_with(2, "embed", model, "--text", "a", "--chunk", "100000", says="a chunk of 100000 tokens; the model takes ")
        self.fail_with(2, "embed", model, "--text", "the cat sat on a mat", "--chunk", "4", "--overlap", "2",
                       says="a chunk of 4 tokens, of which 2 are special or of the prompt and 2 overlap, has no room for others")
        sparse = self.compiled(os.path.join(GOLDENS, "pipelines", "splade"))
        self.fail_with(2, "embed", sparse, "--text", "a", "--chunk", "8", says="sparse embeddings have no chunks")

    def test_what_is_not_run_is_refused(self):
        router = self.with_pipeline("router", "Pooling", "Router")
        why = "modules.json: module 'sentence_transformers.models.Router' is not supported"
        self.fail_with(4, "embed", router, "--text", "sat", says=why)
        self.assertIn("embeddings         refused: " + why, self.succeed("inspect", router).stdout)
        other = self.with_pipeline("unknown", "Pooling", **{"1_Pooling/config": {"word_embedding_dimension": 64, "pooling_mode_best": True}})
        self.fail_with(4, "embed", other, "--text", "sat", says="1_Pooling/config.json: key 'pooling_mode_best' is not known")

    def test_lower_case_of_the_pipeline_or_of_the_settings(self):
        for name, pipeline, settings, same in (("none", False, {"do_lower_case": False}, False), ("pipeline", True, {"do_lower_case": False}, True),
                                               ("general", True, {"tokenizer_class": "PreTrainedTokenizerFast"}, True), ("settings", False, {"do_lower_case": True}, True)):
            model = self.with_pipeline("lower-" + name, "Pooling", sentence_bert_config={"do_lower_case": pipeline}, tokenizer=tokenizer(lower=False), tokenizer_config=settings)
            small, capital = (self.lines("embed", model, "--text", text)[0]["embedding"] for text in ("cat", "CAT"))
            self.assertEqual(small == capital, same, name)


if __name__ == "__main__":
    unittest.main()
