# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""attention: pages and pictures for models, alignments, selections, errors."""
import json
import os
import re
import shutil
import struct
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
from base import GOLDENS, SOURCE, ToolTest, goldens, write_tensors
from texts import tokenizer

TINY_BERT = os.path.join(SOURCE, "examples", "tiny-bert")


class CommandTest(ToolTest):
    """The command on a small BERT with a tokenizer."""

    def show(self, *flags, code=0, says="", model=None):
        arguments = ["attention", model or self.compiled(TINY_BERT, "--attention"), *flags]
        return self.fail_with(code, *arguments, says=says) if code else self.succeed(*arguments)

    def get_json(self, *flags, model=None):
        groups = json.loads(self.show(*flags, "--format", "json", "-o", "-", model=model).stdout)["attention"]
        self.assertEqual(len(groups), 1)
        return groups[0]

    def test_json(self):
        group = self.get_json("--text", "the cat sat")
        self.assertEqual(group["queries"], ["[CLS]", "the", "cat", "s", "##a", "##t", "[SEP]"])
        self.assertEqual(group["keys"], group["queries"])
        self.assertEqual((group["layers"], group["heads"]), ([0, 1], [0, 1]))
        for layer in group["weights"]:
            for head in layer:
                for row in head:
                    self.assertAlmostEqual(sum(row), 1, places=5)

    def test_json_is_exact(self):
        group = self.get_json("--text", "the cat sat")
        ids = json.loads(self.succeed("tokenize", self.compiled(TINY_BERT, "--attention"), "--text", "the cat sat").stdout)["ids"]
        write_tensors(self.path("in"), {"input_ids": ("I64", [1, 7], ids)})
        self.succeed("run", self.compiled(TINY_BERT, "--attention"), "attention", "--in", self.path("in"), "--out", self.path("out"))
        results = goldens.read_tensors(self.path("out"))
        as_f32 = lambda value: struct.unpack("<f", struct.pack("<f", value))[0]
        for layer in range(2):
            expected = [as_f32(value) for value in results[f"attentions.{layer}"][1]]
            self.assertEqual([as_f32(value) for head in group["weights"][layer] for row in head for value in row], expected)
        self.assertEqual(group["weights"], self.get_json("--ids", ",".join(map(str, ids)))["weights"])

    def test_layers_and_heads(self):
        every = self.get_json("--text", "a cat")
        for layers, heads, expected in (("1", "0", ([1], [0])), ("0-1", "1", ([0, 1], [1])), ("1,0,1", "0,1", ([0, 1], [0, 1]))):
            group = self.get_json("--text", "a cat", "--layers", layers, "--heads", heads)
            self.assertEqual((group["layers"], group["heads"]), expected)
            self.assertEqual(group["weights"], [[every["weights"][layer][head] for head in expected[1]] for layer in expected[0]])
        for wrong in ("2", "x", "1-0", "0,,1", "-1", "0-9", "99999999999"):
            self.show("--text", "a", "-o", self.path("p"), f"--layers={wrong}", code=2, says="--layers")
            self.assertFalse(os.path.exists(self.path("p")))

    def test_pairs(self):
        group = self.get_json("--text", "the cat", "--pair", "a dog")
        self.assertEqual(group["queries"], ["[CLS]", "the", "cat", "[SEP]", "a", "dog", "[SEP]"])
        self.assertNotEqual(group["weights"], self.get_json("--ids", "1,2,3,4,5,6,7")["weights"])

    def test_page_and_picture(self):
        self.show("--text", "the </script> cat", "-o", self.path("page.html"))
        with open(self.path("page.html"), encoding="utf-8") as file:
            page = file.read()
        self.assertTrue(page.startswith("<!doctype html>"))
        self.assertEqual(page.count('<script type="text/plain"'), 4)
        self.show("--text", "the cat", "--format", "png", "-o", self.path("page.png"))
        with open(self.path("page.png"), "rb") as file:
            self.assertEqual(file.read(8), b"\x89PNG\r\n\x1a\n")

    def test_decoders(self):
        group = self.get_json("--ids", "3,4,5,6", model=self.compiled("llama-gqa", "--attention"))
        self.assertEqual((group["name"], group["queries"]), ("self", ["3", "4", "5", "6"]))
        for layer in group["weights"]:
            for head in layer:
                for query, row in enumerate(head):
                    self.assertAlmostEqual(sum(row), 1, places=5)
                    self.assertEqual(row[query + 1:], [0.0] * (3 - query))

    def test_errors(self):
        out = ("-o", self.path("page.html"))
        self.show("--text", "a", "--ids", "1", *out, code=2, says="--ids")
        self.show(*out, code=2, says="--text")
        self.show("--pair", "a", "--ids", "1", *out, code=2, says="--pair")
        self.show("--text", "a", *out, "--format", "svg", code=2, says="html")
        self.show("--text", "a", *out, "--target", "b", code=4, says="--target")
        self.show("--text", "a", *out, code=2, says="--attention", model=self.compiled(TINY_BERT))
        self.show("--text", "a", *out, code=4, says="no tokenizer", model=self.compiled("bert", "--attention"))
        self.show("--ids", "999999", *out, code=3)
        self.show("--text", "a", "-o", self.path("missing/page.html"), code=6, says="missing")
        self.assertEqual(os.listdir(self.folder), [])


class TranslatorTest(ToolTest):
    """The command on an encoder-decoder with a tokenizer whose words may have two tokens."""

    # The model's start token is its end token.
    WORDS = ["<s>", "<pad>", "</s>", "<unk>", *[f"w{i}" for i in range(20)], *[f"##s{i}" for i in range(20)]]

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = os.path.join(cls.shared, "translator")
        shutil.copytree(os.path.join(GOLDENS, "encoder-decoders", "marian"), folder)
        made = tokenizer()
        made["added_tokens"] = [dict(made["added_tokens"][0], id=id, content=cls.WORDS[id]) for id in range(4)]
        made["post_processor"]["single"] = [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}}]
        made["post_processor"]["pair"] = [*made["post_processor"]["single"], {"Sequence": {"id": "B", "type_id": 1}}]
        made["post_processor"]["special_tokens"] = {"</s>": {"id": "</s>", "ids": [2], "tokens": ["</s>"]}}
        made["model"].update(unk_token="<unk>", vocab={word: id for id, word in enumerate(cls.WORDS)})
        with open(os.path.join(folder, "tokenizer.json"), "w", encoding="utf-8") as file:
            json.dump(made, file)
        cls.model = cls.compiled(folder, "--attention")

    def show(self, *flags, code=0, says=""):
        return self.fail_with(code, "attention", self.model, *flags, says=says) if code else self.succeed("attention", self.model, *flags)

    def get_json(self, *flags):
        return json.loads(self.show(*flags, "--format", "json", "-o", "-").stdout)

    def run_entry(self, source, target):
        write_tensors(self.path("in"), {"input_ids": ("I64", [1, len(source)], source), "decoder_input_ids": ("I64", [1, len(target)], target)})
        self.succeed("run", self.model, "attention", "--in", self.path("in"), "--out", self.path("out"))
        return goldens.read_tensors(self.path("out"))

    def test_kinds_and_labels(self):
        made = self.get_json("--text", "w1s2 w3", "--target", "w4 w5s6")
        source, target = ["w1", "##s2", "w3", "</s>"], ["</s>", "w4", "w5", "##s6"]
        self.assertEqual([(group["name"], group["queries"], group["keys"]) for group in made["attention"]],
                         [("encoder", source, source), ("decoder", target, target), ("cross", target, source)])
        self.assertNotIn("alignments", made)
        ids = [[self.WORDS.index(word) for word in words] for words in (source, target)]
        results = self.run_entry(*ids)
        as_f32 = lambda value: struct.unpack("<f", struct.pack("<f", value))[0]
        for group in made["attention"]:
            for layer, weights in enumerate(group["weights"]):
                expected = [as_f32(value) for value in results[f"{group['name']}_attentions.{layer}"][1]]
                self.assertEqual([as_f32(value) for head in weights for row in head for value in row], expected)
        # The target ids are the ids that the decoder predicts.
        listed = ",".join(map(str, ids[0])), ",".join(map(str, [*ids[1][1:], 2]))
        self.assertEqual(self.get_json("--ids", listed[0], "--target-ids", listed[1])["attention"], made["attention"])

    def test_alignments(self):
        flags = ("--text", "w1s2 w3  w7", "--target", "w4 w5s6s1 w2", "--alignments")
        for choice in ((), ("--layers", "1", "--heads", "0")):
            made = self.get_json(*flags, *choice)
            self.assertEqual((made["alignments"]["source"], made["alignments"]["target"]), (["w1s2", "w3", "w7"], ["w4", "w5s6s1", "w2"]))
            cross = made["attention"][-1]["weights"]
            heads = [head for layer in cross for head in layer]
            words = [0, 0, 1, 2]  # the source's tokens except the last
            expected = set()
            for query, word in enumerate((0, 1, 1, 1, 2)):
                sums = [sum(head[query][key] for head in heads) for key in range(4)]
                expected.add((words[sums.index(max(sums))], word))
            self.assertEqual([tuple(pair) for pair in made["alignments"]["pairs"]], sorted(expected))

    def test_alignments_of_translations(self):
        # More lines than are aligned together.
        lines = ["w1s2 w3 w7", "", "w5", "w2 w9 w3s1 w8 w4s5s6", "w6 w6", "w1", "w4s4 w2"]
        source = {line: self.words_of(line) for line in lines}
        for flags, heads in (((), (0, 1)), (("--alignment-heads", "1", "--num-beams", "2", "--num-return-sequences", "2"), (1,))):
            arguments = ("translate", self.model, "--alignments", "--max-new-tokens", "6", *flags)
            made = [json.loads(line) for line in self.succeed(*arguments, "--json", input="\n".join(lines) + "\n").stdout.splitlines()]
            self.assertTrue(any(len(line["alignments"]["pairs"]) > 1 for line in made))
            for line in made:
                alignments = line["alignments"]
                if not line["source"]:
                    self.assertEqual(alignments, {"source": [], "target": [], "pairs": []})
                    continue
                ids, words = source[line["source"]]
                self.assertEqual(alignments["source"], line["source"].split())
                self.assertEqual(alignments["target"], line["text"].split())
                # A token with the prefix ## belongs to the preceding word.
                targets, count = [], 0
                for id in line["ids"]:
                    count += id > 3 and (not self.WORDS[id].startswith("##") or count == 0) if id < len(self.WORDS) else 0
                    targets.append(count - 1 if 3 < id < len(self.WORDS) else None)
                results = self.run_entry(ids, [2, *line["ids"][:-1]])
                expected = set()
                for query, word in enumerate(targets):
                    sums = [0.0] * len(words)
                    for layer in range(2):
                        (_, _, queries, keys), weights = results[f"cross_attentions.{layer}"]
                        for head in heads:
                            for key in range(len(words)):
                                sums[key] += weights[(head * queries + query) * keys + key]
                    if word is not None:
                        expected.add((words[sums.index(max(sums))], word))
                self.assertEqual([tuple(pair) for pair in alignments["pairs"]], sorted(expected))
            text = self.succeed(*arguments, input="\n".join(lines) + "\n").stdout.split("\n")[:-1]
            self.assertEqual(text, [line["text"] + "\t" + " ".join(f"{i}-{j}" for i, j in line["alignments"]["pairs"]) for line in made])

    def words_of(self, line):
        """Returns the ids for a text, and the word for each except the end token."""
        tokens, words = [], []
        for index, word in enumerate(line.split()):
            for part in re.findall(r"w\d+|s\d+", word):
                tokens.append(self.WORDS.index(part if part[0] == "w" else "##" + part))
                words.append(index)
        return [*tokens, 2], words

    def test_layers_and_heads_that_one_kind_lacks(self):
        # The encoder has 1 layer with 4 heads, the decoder 2 with 2.
        every = {group["name"]: group for group in self.get_json("--ids", "5,2", "--target-ids", "6,2")["attention"]}
        for layers, heads, expected in (("1", "0", {"decoder": [[1], [0]], "cross": [[1], [0]]}), ("0", "1,3", {"encoder": [[0], [1, 3]], "decoder": [[0], [1]], "cross": [[0], [1]]}),
                                        ("0-1", "2-3", {"encoder": [[0], [2, 3]]})):
            made = self.get_json("--ids", "5,2", "--target-ids", "6,2", "--layers", layers, "--heads", heads)["attention"]
            self.assertEqual({group["name"]: [group["layers"], group["heads"]] for group in made}, expected)
            for group in made:
                self.assertEqual(group["weights"], [[every[group["name"]]["weights"][layer][head] for head in group["heads"]] for layer in group["layers"]])
        self.show("--ids", "5,2", "--target-ids", "6,2", "--layers", "1", "--heads", "3", "-o", self.path("p"), code=2, says="heads '3'")
        self.show("--ids", "5,2", "--target-ids", "6,2", "--layers", "2", "-o", self.path("p"), code=2, says="--layers")

    def test_page_and_picture(self):
        flags = ("--text", "w1s2 w3", "--target", "w4 </script> w5")
        self.show(*flags, "--alignments", "-o", self.path("page.html"))
        with open(self.path("page.html"), encoding="utf-8") as file:
            page = file.read()
        self.assertEqual(page.count('<script type="text/plain"'), 4 + 2 * 4)
        self.assertIn('"alignments":{"source":["w1s2","w3"]', page)
        self.show(*flags, "--format", "png", "-o", self.path("page.png"))
        with open(self.path("page.png"), "rb") as file:
            self.assertEqual(file.read(8), b"\x89PNG\r\n\x1a\n")

    def test_errors(self):
        out = ("-o", self.path("page.html"))
        self.show("--text", "w1", *out, code=2, says="--target")
        self.show("--text", "w1", "--target", "w1", "--target-ids", "1", *out, code=2, says="--target-ids")
        self.show("--text", "w1", "--target-ids", "1", "--alignments", *out, code=2, says="--alignments")
        self.show("--text", "w1", "--target", "w1", "--alignments", "--format", "png", *out, code=2, says="png")
        self.show("--text", "w1", "--target", "w1", "--alignments", "--heads", "2-3", *out, code=2, says="--alignments")
        self.show("--ids", "1", "--target-ids", "999,2", *out, code=3)
        # Invalid alignment flags are rejected before the first line is read.
        for flag, numbers in (("--alignment-layers", "2"), ("--alignment-heads", "2"), ("--alignment-heads", "x")):
            self.fail_with(2, "translate", self.model, "--alignments", flag, numbers, "--file", self.path("missing"), says=flag)
        # The heads 2 and 3 are the encoder's alone.
        of_encoder = self.compiled(os.path.join(self.shared, "translator"), "--attention", "--attention-heads", "2,3")
        self.fail_with(2, "translate", of_encoder, "--alignments", input="w1\n", says="'cross'")
        self.fail_with(2, "translate", self.model, "--alignment-layers", "1", input="w1\n", says="--alignments")
        self.assertEqual(os.listdir(self.folder), [])


unittest.main()
