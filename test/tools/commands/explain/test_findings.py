# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""explain lists the reasons why a model is slow in its first lines."""
import json
import os
import unittest

from explains import SOURCE, ExplainTest, read_scores, write_graph

HEADING = "What makes it slower than it has to be"


def read_probabilities(graph, nodes):
    """Makes the probabilities a result of the model, too."""
    graph["outputs"].append("shares")


class Findings(ExplainTest):
    def findings(self, *arguments):
        """The section, with each paragraph as one line; empty where it is missing."""
        text = self.succeed("explain", *arguments).stdout
        section = text.partition(HEADING + "\n")[2].partition("\n\n")[0]
        if section:
            self.assertLess(text[:text.index(HEADING)].count("\n"), 8)
        return " ".join(section.split())

    def test_nothing_to_find(self):
        self.assertEqual(self.findings(self.example("tiny-bert")), "")

    def test_disabled_passes(self):
        found = self.findings(self.example("tiny-bert"), "--disable-pass", "attn-fuse-attention")
        self.assertIn("Pass 'attn-fuse-attention' is switched off: it fuses matmul, scale, mask, softmax, matmul", found)
        self.assertIn("2 attentions are not fused", found)
        self.assertIn("--other-flags '--disable-pass none'", found)

    def test_attention_that_is_not_fused(self):
        for change, reason in [(read_scores, "the scores of 'attn.scale' at 'scores' are read by"), (read_probabilities, "the probabilities are read by")]:
            with self.subTest(reason):
                folder = self.path(change.__name__)
                os.mkdir(folder)
                found = self.findings(write_graph(folder, change))
                self.assertIn("* 1 attention is not fused: scores go through memory", found)
                self.assertIn(reason, found)

    def test_columns_that_nothing_uses(self):
        config = json.loads(self.read(os.path.join(self.example("tiny-bert"), "config.json")))
        for heads, wasted in [(2, False), (4, True)]:
            folder = self.path(str(heads))
            os.mkdir(folder)
            with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
                json.dump(config | {"num_attention_heads": heads}, file)
            found = self.findings(folder)
            self.assertEqual("of the work is for columns that are computed and not used" in found, wasted)
            self.assertEqual("attention.self: attention 4 heads of 8, mask, 32 of 64 columns used" in found
                             or "attention.self: attention 4 heads of 8, 32 of 64 columns used" in found, wasted, found)
            # -v lists it for any model; the default only from 5 % on.
            listed = self.succeed("explain", folder, "-v").stdout
            self.assertEqual("Columns that avx2 computes and nothing uses: none" in listed, not wasted)
            self.assertEqual("16 in place of 8" in found and "less than 5 % is told by -v alone" in found and "(config.json /num_attention_heads)" in found, wasted, found)

    def test_columns_of_a_graph_have_a_place(self):
        found = self.findings(self.example("decomposed-attention"))
        self.assertRegex(found, r"attention 3 heads of 8, mask, 24 of 48 columns used; .* \(graph\.json /nodes/16\)")
        self.assertIn("32 in place of 24", found)
        self.assertIn("query, key projections: product 24 -> 24 + 24", found)

    def test_padding_that_is_computed(self):
        graph = json.loads(self.read(os.path.join(self.example("transformer-encoder"), "graph.json")))
        del graph["$schema"]
        (attention,) = [node for node in graph["blocks"]["layer"]["nodes"] if node["op"] == "attention"]
        attention["inputs"].remove("visible")
        os.symlink(os.path.join(self.example("transformer-encoder"), "model.safetensors"), self.path("model.safetensors"))
        with open(self.path("graph.json"), "w", encoding="utf-8") as file:
            json.dump(graph, file)
        found = self.findings(self.path("graph.json"))
        self.assertIn("Padding is computed like other tokens: of two sequences of 128 and 32 tokens, 96 of 256 rows are padding", found)
        self.assertIn("has no mask, so that padding has a part in its result", found)

    def test_a_mask_that_is_not_marked(self):
        graph = json.loads(self.read(os.path.join(self.example("transformer-encoder"), "graph.json")))
        del graph["$schema"]
        del graph["inputs"][1]["mask_of"], graph["inputs"][1]["default"]
        os.symlink(os.path.join(self.example("transformer-encoder"), "model.safetensors"), self.path("model.safetensors"))
        with open(self.path("graph.json"), "w", encoding="utf-8") as file:
            json.dump(graph, file)
        found = self.findings(self.path("graph.json"))
        self.assertIn("argument 'mask' with the sizes [batch, seq] hides keys in 3 attentions, but is not marked as the mask of padding", found)
        self.assertIn("graph.json /inputs/1", found)
        self.assertIn('"mask_of": "ids"', found)

    def test_attention_without_a_softmax(self):
        nodes = [{"name": "scores", "op": "matmul", "inputs": ["x", "x"], "attrs": {"transpose_b": True}},
                 {"name": "positive", "op": "relu", "inputs": ["scores"]},
                 {"name": "mixed", "op": "matmul", "inputs": ["positive", "x"]}]
        found = self.findings(self.write_nodes(nodes, ["mixed"]))
        # Two GEMMs: 128 rows with width 16 are read twice and written, and 128 x 128 scores written and read.
        self.assertRegex(found, r"1 attention has no softmax and is not fused: scores go through memory, and the products read and write 1[5-9]\d\.\d KiB in a call")
        self.assertIn("'attn.matmul' at 'mixed' reads scores [batch, seq, seq] of 'attn.matmul' at 'scores'", found)
        self.assertIn("multiply key and value first", found)
        self.assertIn("graph.json /nodes/2", found)
        # The other order has no scores.
        nodes = [{"name": "turned", "op": "transpose", "inputs": ["x"], "attrs": {"permutation": [0, 2, 1]}},
                 {"name": "sums", "op": "matmul", "inputs": ["turned", "x"]},
                 {"name": "mixed", "op": "matmul", "inputs": ["x", "sums"]}]
        self.assertNotIn("no softmax", self.findings(self.write_nodes(nodes, ["mixed"])))

    def test_layers_that_mostly_copy(self):
        nodes = [{"name": "first", "op": "linear", "inputs": ["x"], "attrs": {"weight": "q.weight"}},
                 {"name": "turned", "op": "transpose", "inputs": ["first"], "attrs": {"permutation": [1, 0, 2]}},
                 {"name": "twice", "op": "concat", "inputs": ["turned", "turned"], "attrs": {"axis": 2}},
                 {"name": "last", "op": "transpose", "inputs": ["twice"], "attrs": {"permutation": [1, 0, 2]}}]
        path = self.write_nodes(nodes, ["last"])
        found = self.findings(path)
        self.assertRegex(found, r"\d\d % of the bytes that operations outside of layers read and write are copies: \d+\.\d KiB of \d+\.\d KiB in a call")
        self.assertRegex(found, r"slices, joins and transposes that no kernel absorbs: .*twice")
        self.assertIn("Copies have no FLOP and take time by their bytes", found)

    def test_a_packed_projection_is_not_copied(self):
        graph = {"nodes": [{"name": "packed", "op": "linear", "inputs": ["x"], "attrs": {"weight": "in_proj.weight"}},
                           {"name": "three", "op": "reshape", "inputs": ["packed"], "attrs": {"shape": ["batch", "seq", 3, 16]}},
                           {"name": "first", "op": "transpose", "inputs": ["three"], "attrs": {"permutation": [2, 0, 1, 3]}}]}
        for index, name in enumerate("qkv"):
            graph["nodes"] += [{"name": f"{name}1", "op": "slice", "inputs": ["first"], "attrs": {"axis": 0, "start": index, "size": 1}},
                               {"name": f"{name}2", "op": "reshape", "inputs": [f"{name}1"], "attrs": {"shape": ["batch", "seq", 2, 8]}},
                               {"name": name, "op": "transpose", "inputs": [f"{name}2"], "attrs": {"permutation": [0, 2, 1, 3]}}]
        graph["nodes"] += [{"name": "scores", "op": "matmul", "inputs": ["q", "k"], "attrs": {"transpose_b": True}},
                           {"name": "shares", "op": "softmax", "inputs": ["scores"]},
                           {"name": "mixed", "op": "matmul", "inputs": ["shares", "v"]},
                           {"name": "turned", "op": "transpose", "inputs": ["mixed"], "attrs": {"permutation": [0, 2, 1, 3]}},
                           {"name": "y", "op": "reshape", "inputs": ["turned"], "attrs": {"shape": ["batch", "seq", 16]}}]
        path = self.write_nodes(graph["nodes"], ["y"])
        explanation = json.loads(self.succeed("explain", path, "--json").stdout)
        (entry,) = explanation["entries"]
        self.assertEqual([operation["name"] for phase in entry["phases"] for operation in phase["operations"]], ["kern.gemm", "kern.attention"])
        self.assertNotIn("are copies", self.findings(path))

    def read(self, path):
        with open(path, encoding="utf-8") as file:
            return file.read()


if __name__ == "__main__":
    unittest.main()
