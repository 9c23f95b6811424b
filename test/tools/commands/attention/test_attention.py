# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""attention: the entry of `compile --attention`, pages and pictures of models, selections, errors."""
import json
import os
import re
import shutil
import struct
import sys
import unittest
from random import Random

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
from base import GOLDENS, SOURCE, ToolTest, goldens, write_tensors
from texts import tokenizer

TINY_BERT = os.path.join(SOURCE, "examples", "tiny-bert")


def flatten(rows):
    return [value for row in rows for value in row]


class EntryTest(ToolTest):
    """The entry `attention` by `run`."""

    def run_entry(self, model, entry, ids, mask, target=None):
        shape = [len(ids), len(ids[0])]
        tensors = {"input_ids": ("I64", shape, flatten(ids))}
        if not all(flatten(mask)):
            tensors["attention_mask"] = ("I64", shape, flatten(mask))
        if target:
            tensors["decoder_input_ids"] = ("I64", [len(target), len(target[0])], flatten(target))
        write_tensors(self.path("in"), tensors)
        self.succeed("run", model, entry, "--in", self.path("in"), "--out", self.path("out"))
        return goldens.read_tensors(self.path("out"))

    def get_cases(self):
        """Name, the arguments of the entry, and the expected weights by kind, as shape and numbers of each layer."""
        with open(os.path.join(GOLDENS, "attention.json"), encoding="utf-8") as file:
            cases = json.load(file)
        for name, case in cases.items():
            given = case["input_ids"], case["attention_mask"], case.get("decoder_input_ids")
            if given[2]:
                kinds = {kind: (case[kind]["shape"], case[kind]["weights"]) for kind in case if kind.endswith("attentions")}
                yield f"encoder-decoders/{name}", given, kinds
            else:
                yield name, given, {"attentions": (case["shape"], case["attentions"])}

    def test_weights_are_those_of_transformers(self):
        for name, given, kinds in self.get_cases():
            results = self.run_entry(self.compiled(name, "--attention"), "attention", *given)
            for kind, (shape, layers) in kinds.items():
                for layer, expected in enumerate(layers):
                    got, weights = results[f"{kind}.{layer}"]
                    self.assertEqual(got, shape, f"{name}, {kind}.{layer}")
                    self.assertLess(max(abs(a - b) for a, b in zip(weights, expected)), 1e-5, f"{name}, {kind}.{layer}")
                self.assertNotIn(f"{kind}.{len(layers)}", results)

    def test_other_results_keep_their_bits(self):
        for name, given, _ in self.get_cases():
            # Some, for time.
            if os.path.basename(name) not in ("bert", "modernbert", "llama-gqa", "gemma2", "marian", "t5", "m2m"):
                continue
            entry = "encode" if name in ("bert", "modernbert") else "logits"
            plain = self.run_entry(self.compiled(name), entry, *given)
            model = self.compiled(name, "--attention")
            self.assertEqual(plain, self.run_entry(model, entry, *given))
            results = self.run_entry(model, "attention", *given)
            self.assertEqual(plain, {result: results[result] for result in plain}, name)

    def test_other_results_keep_their_bits_beside_padding(self):
        # Sources of more than one panel of 32 keys: whole, and with padding on the left, on the right, and between tokens.
        length, random = 40, Random(1)
        mask = [[1] * length, [0] * 7 + [1] * 33, [1] * 35 + [0] * 5, [int(i % 3 != 1) for i in range(length)]]
        ids = [[random.randrange(4, 30) for _ in row] for row in mask]
        for name, entry in (("bert", "encode"), ("gemma2", "logits"), ("encoder-decoders/marian", "logits"), ("encoder-decoders/t5", "logits")):
            # A decoder alone takes no mask.
            given = [ids, [[1] * length] * 4] if name == "gemma2" else [ids, mask]
            if "/" in name:
                given.append([[random.randrange(4, 30) for _ in range(9)] for _ in mask])
            for dtype in ("f32", "bf16"):
                model = self.compiled(name, "--attention", "--dtype", dtype)
                plain, results = self.run_entry(model, entry, *given), self.run_entry(model, "attention", *given)
                self.assertEqual(plain, {result: results[result] for result in plain}, f"{name}, {dtype}")

    def test_bits_do_not_depend_on_the_batch(self):
        with open(os.path.join(GOLDENS, "attention.json"), encoding="utf-8") as file:
            case = json.load(file)["bert"]
        model = self.compiled("bert", "--attention")
        together = self.run_entry(model, "attention", case["input_ids"], case["attention_mask"])["attentions.1"][1]
        size = len(together) // 3
        for row in range(3):
            alone = self.run_entry(model, "attention", case["input_ids"][row:row + 1], case["attention_mask"][row:row + 1])
            self.assertEqual(alone["attentions.1"][1], together[row * size:(row + 1) * size])

    def test_sizes_have_limits(self):
        model = self.compiled("bert", "--attention")
        for rows, columns in ((5, 4), (1, 97)):
            write_tensors(self.path("in"), {"input_ids": ("I64", [rows, columns], [5] * rows * columns)})
            self.fail_with(5, "run", model, "attention", "--in", self.path("in"), "--out", self.path("out"))

    def test_other_entries_are_compiled_as_without_the_flag(self):
        # Each function of the module, as the list of its operations; phases of a run are functions of these.
        def get_functions(folder, *flags):
            text = self.succeed("compile", os.path.join(GOLDENS, folder), "-q", "--emit", "kern", "-o", "-", *flags).stdout
            functions = re.findall(r"^  func\.func (?:private )?@\w+\(.*?^  }", text, re.S | re.M)
            return [re.findall(r"kern\.\w+|epilogue <\w+|\w+_out\b|splits", function) for function in functions]
        for name in ("bert", "llama-gqa", "gpt2-by-layer", "encoder-decoders/marian"):
            plain, others = get_functions(name), get_functions(name, "--attention")
            self.assertGreater(len(plain), 1)
            for function in plain:
                self.assertIn(function, others, name)
            self.assertEqual(len(others), len(plain) + 1)

    def test_chosen_layers_and_heads(self):
        plain = self.compiled("encoder-decoders/marian", "--attention")
        # The encoder has 1 layer of 4 heads, the decoder 2 of 2.
        for layers, heads, expected in (("1", "0", {"decoder_attentions.1": [0], "cross_attentions.1": [0]}),
                                        ("0", "1,3", {"encoder_attentions.0": [1, 3], "decoder_attentions.0": [1], "cross_attentions.0": [1]})):
            model = self.compiled("encoder-decoders/marian", "--attention", "--attention-layers", layers, "--attention-heads", heads)
            given = [[5, 6, 7]], [[1, 1, 1]], [[8, 9]]
            every, results = self.run_entry(plain, "attention", *given), self.run_entry(model, "attention", *given)
            self.assertEqual(set(results), {"logits", *expected})
            self.assertEqual(results["logits"], every["logits"])
            for name, chosen in expected.items():
                (_, count, queries, keys), weights = every[name]
                size = queries * keys
                self.assertEqual(results[name][0], [1, len(chosen), queries, keys])
                self.assertEqual(list(results[name][1]), [weight for head in chosen for weight in weights[head * size:(head + 1) * size]])
            # The command tells their numbers.
            made = json.loads(self.succeed("attention", model, "--ids", "5,6,7", "--target-ids", "9,2", "--format", "json", "-o", "-").stdout)
            self.assertEqual({f"{group['name']}_attentions.{group['layers'][0]}": group["heads"] for group in made["attention"]}, expected)
            self.fail_with(2, "attention", model, "--ids", "5", "--target-ids", "9", "--heads", "2", "-o", self.path("p"), says="'2' is out of range")
        folder = os.path.join(GOLDENS, "encoder-decoders", "marian")
        for flags, says in ((("--attention-layers", "2"), "no layer '2'"), (("--attention-heads", "0,4"), "head '4'"), (("--attention-heads", "x"), "'x'")):
            self.fail_with(2, "compile", folder, "--attention", *flags, "-q", "-o", self.path("m.so"), says=says)
        self.fail_with(2, "compile", folder, "--attention-layers", "0", "-q", "-o", self.path("m.so"), says="need '--attention'")

    def test_caches_that_round_are_refused(self):
        # The entry has no cache, so its results would differ.
        for name in ("llama-gqa", "encoder-decoders/marian"):
            for dtype, cache in (("f32", "int8"), ("f32", "bf16"), ("bf16", "f32"), ("bf16", "int8")):
                self.fail_with(4, "compile", os.path.join(GOLDENS, name), "--attention", "--dtype", dtype, "--kv-dtype", cache, "-q", "-o", self.path("m.so"),
                               says=f"'--attention' with '--kv-dtype {cache}' is not supported for '--dtype {dtype}'; supported: '--kv-dtype {dtype}'")

    def test_models_without_weights_are_refused(self):
        self.fail_with(4, "compile", os.path.join(SOURCE, "examples", "pre-norm"), "--attention", "-q", "-o", self.path("m.so"), says="supported: encoders, decoders and encoder-decoders")


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
        # The ids of the target are those that the decoder predicts.
        listed = ",".join(map(str, ids[0])), ",".join(map(str, [*ids[1][1:], 2]))
        self.assertEqual(self.get_json("--ids", listed[0], "--target-ids", listed[1])["attention"], made["attention"])

    def test_alignments(self):
        flags = ("--text", "w1s2 w3  w7", "--target", "w4 w5s6s1 w2", "--alignments")
        for choice in ((), ("--layers", "1", "--heads", "0")):
            made = self.get_json(*flags, *choice)
            self.assertEqual((made["alignments"]["source"], made["alignments"]["target"]), (["w1s2", "w3", "w7"], ["w4", "w5s6s1", "w2"]))
            cross = made["attention"][-1]["weights"]
            heads = [head for layer in cross for head in layer]
            words = [0, 0, 1, 2]  # of the source's tokens but the last
            expected = set()
            for query, word in enumerate((0, 1, 1, 1, 2)):
                sums = [sum(head[query][key] for head in heads) for key in range(4)]
                expected.add((words[sums.index(max(sums))], word))
            self.assertEqual([tuple(pair) for pair in made["alignments"]["pairs"]], sorted(expected))

    def test_alignments_of_translations(self):
        lines = ["w1s2 w3 w7", "", "w5"]
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
                # A token that begins with ## belongs to the word before it.
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
        """The ids of a text, and the word of each but the end token."""
        tokens, words = [], []
        for index, word in enumerate(line.split()):
            for part in re.findall(r"w\d+|s\d+", word):
                tokens.append(self.WORDS.index(part if part[0] == "w" else "##" + part))
                words.append(index)
        return [*tokens, 2], words

    def test_layers_and_heads_that_one_kind_lacks(self):
        # The encoder has 1 layer of 4 heads, the decoder 2 of 2.
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
        self.fail_with(2, "translate", self.model, "--alignments", "--alignment-layers", "2", input="w1\n", says="--alignment-layers")
        self.fail_with(2, "translate", self.model, "--alignment-layers", "1", input="w1\n", says="--alignments")
        self.assertEqual(os.listdir(self.folder), [])


unittest.main()
