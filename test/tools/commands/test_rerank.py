# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""rerank: the order and scores of cross-encoders of sentence-transformers, and of embeddings."""
import json
import math
import os
import shutil
import unittest

from base import GOLDENS
from tasks import TASKS, TaskTest


class Rerank(TaskTest):
    task = "rerank"

    def rank(self, model, query, documents, *flags):
        given = [flag for document in documents for flag in ("--text", document)]
        return self.lines("rerank", model, "--query", query, *given, *flags)

    def test_cross_encoders(self):
        for name, expected in self.expected.items():
            documents = expected["documents"]
            lines = self.rank(self.models[name], expected["query"], documents)
            self.assertEqual([line["text"] for line in lines], [documents[line["index"]] for line in lines])
            ranked = [{"corpus_id": line["index"], "score": line["score"]} for line in lines]
            self.assert_like(ranked, expected["ranked"], name)
            self.assertEqual(self.rank(self.models[name], expected["query"], documents, "--top-k", "2"), lines[:2])
            path = self.path("documents")
            with open(path, "w") as file:
                file.write("\n".join(documents) + "\n")
            self.assertEqual(self.lines("rerank", self.models[name], "--query", expected["query"], "--file", path), lines)

    def test_embeddings(self):
        folder = self.path("bare")
        shutil.copytree(os.path.join(TASKS, "bert-tags"), folder)
        with open(os.path.join(folder, "config.json")) as file:
            config = dict(json.load(file), architectures=["BertModel"])
        with open(os.path.join(folder, "config.json"), "w") as file:
            json.dump(config, file)
        model = self.path("bare.so")
        self.succeed("compile", folder, "-o", model)
        texts = self.expected["bert-rerank"]["documents"]
        vectors = [line["embedding"] for text in texts for line in self.lines("embed", model, "--text", text)]
        product = lambda a, b: math.fsum(x * y for x, y in zip(a, b, strict=True))
        wanted = {text: product(vectors[0], vector) for text, vector in zip(texts[1:], vectors[1:])}
        lines = self.rank(model, texts[0], texts[1:])
        self.assertEqual([line["text"] for line in lines], sorted(wanted, key=wanted.get, reverse=True))
        for line in lines:
            self.assertAlmostEqual(line["score"], wanted[line["text"]], delta=1e-6)

    def test_late_interaction(self):
        folder = os.path.join(GOLDENS, "pipelines", "late")
        model = self.compiled(folder)
        with open(os.path.join(folder, "texts.json")) as file:
            golden = json.load(file)
        kinds = {case["flags"][1]: case["embeddings"] for case in golden["cases"] if case["flags"][:1] == ["--prompt-name"] and len(case["flags"]) == 2}
        texts = golden["texts"]
        product = lambda a, b: math.fsum(x * y for x, y in zip(a, b, strict=True))
        wanted = {i: math.fsum(max(product(q, d) for d in document) for q in kinds["query"][0]) for i, document in enumerate(kinds["document"]) if document}
        lines = self.rank(model, texts[0], texts)
        self.assertEqual(sorted(line["index"] for line in lines), list(range(len(texts))))
        for line in lines:
            self.assertAlmostEqual(line["score"], wanted.get(line["index"], 0), delta=1e-4)
        self.assertEqual(lines, sorted(lines, key=lambda line: -line["score"]))

    def test_errors(self):
        model = self.models["bert-rerank"]
        self.fail_with(2, "rerank", model, "--text", "a", says="--query")
        self.fail_with(2, "rerank", model, "--query", " ", "--text", "a", says="--query is empty")
        self.fail_with(3, "rerank", model, "--query", "q", "-", input="", says="stdin: no documents; expected one a line")
        three = self.compiled(os.path.join(TASKS, "bert-entailment"))
        self.fail_with(4, "rerank", three, "--query", "q", "--text", "a", says="this one has 3 labels")
        self.fail_with(4, "rerank", self.compiled(os.path.join(TASKS, "bert-masks")), "--query", "q", "--text", "a", says="its head is 'masked_lm'")

    def test_an_activation_that_is_not_supported(self):
        folder = self.path("other")
        shutil.copytree(os.path.join(TASKS, "bert-rerank"), folder)
        with open(os.path.join(folder, "config.json")) as file:
            config = dict(json.load(file), sbert_ce_default_activation_function="torch.nn.modules.activation.Tanh")
        with open(os.path.join(folder, "config.json"), "w") as file:
            json.dump(config, file)
        model = self.path("other.so")
        self.succeed("compile", folder, "-o", model)
        self.fail_with(4, "rerank", model, "--query", "q", "--text", "a", says="activation of scores 'torch.nn.modules.activation.Tanh'")


if __name__ == "__main__":
    unittest.main()
