# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""rerank: order and scores from sentence-transformers cross-encoders, and from embeddings."""
import json
import math
import os
import shutil
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from base import GOLDENS  # noqa: E402
from tasks import TASKS, TaskTest  # noqa: E402


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
            for case in expected.get("prompted", []):
                lines = self.rank(self.models[name], expected["query"], documents, *case["flags"])
                self.assert_like([{"corpus_id": line["index"], "score": line["score"]} for line in lines], case["ranked"],
                                 f"{name} {case['flags']}")

    def change(self, name, file, change):
        """Copies a golden folder with another JSON file, and compiles it."""
        folder = self.path(f"changed-{name}")
        shutil.copytree(os.path.join(TASKS, name), folder)
        with open(os.path.join(folder, file)) as text:
            data = json.load(text)
        change(data)
        with open(os.path.join(folder, file), "w") as text:
            json.dump(data, text)
        return folder

    def test_prompts(self):
        model = self.models["qwen3-chat-rerank"]
        self.fail_with(2, "rerank", model, "--query", "q", "--text", "a", "--prompt-name", "news",
                       says="the model has no prompt 'news'; it has: none, web")
        self.fail_with(2, "rerank", model, "--query", "q", "--text", "a", "--prompt-name", "web", "--prompt", "b", says="one too many")
        self.assertEqual(self.rank(model, "q", ["a", "b"], "--instruction", "c"), self.rank(model, "q", ["a", "b"], "--prompt", "c"))
        late = self.compiled(os.path.join(GOLDENS, "pipelines", "late"))
        self.fail_with(2, "rerank", late, "--query", "q", "--text", "a", "--prompt", "b", says="it takes no other prompt")

    def test_a_causal_model_without_modules(self):
        expected = self.expected["qwen3-chat-rerank"]
        folder = self.path("plain")
        shutil.copytree(os.path.join(TASKS, "qwen3-chat-rerank"), folder)
        for name in ("modules.json", "sentence_bert_config.json", "config_sentence_transformers.json"):
            os.remove(os.path.join(folder, name))
        template = self.path("template.jinja")
        with open(os.path.join(folder, "chat_template.jinja")) as file, open(template, "w") as copy:
            copy.write(file.read().replace("add_generation_prompt", "true"))
        model = self.path("plain.so")
        flags = ("--true-token", "yes", "--false-token", "no", "-o", model)
        self.succeed("compile", folder, *flags, "--chat-template", template)
        for case in [{"flags": [], "ranked": expected["ranked"]}, expected["prompted"][0]]:
            lines = self.rank(model, expected["query"], expected["documents"], *case["flags"])
            self.assert_like([{"corpus_id": line["index"], "score": line["score"]} for line in lines], case["ranked"], "plain")
        self.fail_with(2, "compile", folder, "--true-token", "maybe", "-o", model, says="'--true-token': the tokenizer has no token 'maybe'")
        self.fail_with(2, "compile", folder, "--false-token", "no", "-o", model, says="need '--true-token'")
        with open(os.path.join(folder, "chat_template.jinja"), "w") as file:
            file.write("{% for m in messages %}{% if m.role == 'user' %}{{ m.content }}{% endif %}{% endfor %}")
        self.fail_with(4, "compile", folder, *flags, says="it leaves out the message of the role 'query'; give another with --chat-template")
        bert = os.path.join(TASKS, "bert-masks")
        self.fail_with(4, "compile", bert, *flags, says="'BertForMaskedLM' is not a causal language model")
        with_modules = os.path.join(TASKS, "qwen3-chat-rerank")
        self.fail_with(2, "compile", with_modules, *flags, says="modules.json says what the model is used for")

    def test_folders_of_cross_encoders_that_are_refused(self):
        self.fail_with(4, "embed", self.models["qwen3-chat-rerank"], "--text", "a", says="scores pairs of texts, which 'rerank' does")
        folder = self.change("qwen3-chat-rerank", "sentence_bert_config.json",
                             lambda config: config["processing_kwargs"].update(text={"max_length": 8}))
        model = self.path("refused.so")
        self.assertIn("'rerank' refuses this model", self.succeed("compile", folder, "-o", model).stderr)
        self.fail_with(4, "rerank", model, "--query", "q", "--text", "a", says="'text' is not supported; supported: chat_template")
        folder = self.change("qwen3-text-rerank", "1_LogitScore/config.json", lambda config: config.update(true_token_id=400))
        self.fail_with(3, "compile", folder, "-o", model, says="LogitScore: the token 400, but the vocabulary has 332 tokens")

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

    def compile_with(self, name, **config):
        """Compiles a reranker with more keys in its config.json; returns the artifact and compile's messages."""
        folder = self.change("bert-rerank", "config.json", lambda found: found.update(config))
        os.rename(folder, self.path(name))
        return self.path(name + ".so"), self.succeed("compile", self.path(name), "-o", self.path(name + ".so")).stderr

    def test_activations(self):
        expected = self.expected["bert-rerank"]
        sigmoid = {line["index"]: line["score"] for line in self.rank(self.models["bert-rerank"], expected["query"], expected["documents"])}
        tanh, said = self.compile_with("tanh", sbert_ce_default_activation_function="torch.nn.modules.activation.Tanh", unknown=None)
        self.assertEqual(said, "")
        for line in self.rank(tanh, expected["query"], expected["documents"]):
            logit = math.log(sigmoid[line["index"]] / (1 - sigmoid[line["index"]]))
            self.assertAlmostEqual(line["score"], math.tanh(logit), delta=1e-5)
        # A null in the newer key means the default, and so does checkpoint code.
        newer = {"sentence_transformers": {"activation_fn": None}, "sbert_ce_default_activation_function": "torch.nn.Identity"}
        for name, config in (("null", newer), ("own", {"sentence_transformers": {"activation_fn": "own.Act"}})):
            model, said = self.compile_with(name, **config)
            self.assertEqual("'own.Act' is code of the checkpoint, which is never run" in said, name == "own")
            self.assertEqual({line["index"]: line["score"] for line in self.rank(model, expected["query"], expected["documents"])}, sigmoid)
        model, _ = self.compile_with("softmax", sentence_transformers={"activation_fn": "torch.nn.modules.activation.Softmax"})
        self.fail_with(4, "rerank", model, "--query", "q", "--text", "a", says="activation of scores 'torch.nn.modules.activation.Softmax'")


if __name__ == "__main__":
    unittest.main()
