# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Invalid models: `compile` and `explain` report the file, the JSON pointer, the layer, the expected form and the nearest valid
form."""
import json
import os
import shutil
import struct
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "commands"))

from base import SOURCE, ToolTest  # noqa: E402

GRAPH, BERT, LLAMA = "transformer-encoder", "tiny-bert", "tiny-llama"
QUERY = "encoder.layer.1.attention.self.query.weight"


def edit_json(name, edit):
    """Edits a JSON file."""

    def apply(folder):
        path = os.path.join(folder, name)
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
        edit(document)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(document, file, indent=1)

    return apply


def graph(edit):
    return edit_json("graph.json", edit)


def node(number, **changes):
    """Changes a node in the layer."""
    return graph(lambda document: document["blocks"]["layer"]["nodes"][number].update(changes))


def config(**changes):
    return edit_json("config.json", lambda document: document.update(changes))


def tensors(edit):
    """Changes the weights header."""

    def apply(folder):
        path = os.path.join(folder, "model.safetensors")
        with open(path, "rb") as file:
            data = file.read()
        (length,) = struct.unpack_from("<Q", data)
        header = json.loads(data[8 : 8 + length])
        edit(header)
        text = json.dumps(header).encode()
        with open(path, "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text + data[8 + length :])

    return apply


def rename(old, new):
    return tensors(lambda header: header.update({new: header.pop(old)}))


def truncate(folder):
    path = os.path.join(folder, "model.safetensors")
    os.truncate(path, os.path.getsize(path) // 2)


def misspell_key(document):
    document["hiden_size"] = document.pop("hidden_size")


# Name, example, change, exit code, and the parts of the line in order.
CASES = (
    ("op", GRAPH, node(0, op="linaer"), 4, ["graph.json:", "'/blocks/layer/nodes/0/op'", "unknown op 'linaer'; did you mean 'linear'?"]),
    ("attribute", GRAPH, node(0, attrs={"weigth": "attention.query.weight"}), 3,
     ["graph.json:", "'/blocks/layer/nodes/0/attrs'", "unknown attribute 'weigth' of op 'linear'", "in 'layers.0.query'", "did you mean 'weight'?"]),
    ("type of an attribute", GRAPH, node(3, attrs={"heads": "4"}), 3,
     ["graph.json:", "'/blocks/layer/nodes/3/attrs/heads'", "expected an integer, got a string", "in 'layers.0.mixed'"]),
    ("edge out of a block", GRAPH, node(3, inputs=["query", "key", "value", "mask"]), 3,
     ["graph.json:", "'/blocks/layer/nodes/3/inputs/3'", "edge 'mask' leads to nothing", "supported: ", "visible", "x"]),
    ("rank", GRAPH, node(0, attrs={"weight": "attention.query.bias"}), 3,
     ["graph.json:", "'/blocks/layer/nodes/0'", "expects a static weight of rank 2, got f32 [32]", "in 'layers.0.query'"]),
    ("tensor of one layer", GRAPH, rename("layers.2.up.weight", "layers.2.pu.weight"), 3,
     ["graph.json:", "'/blocks/layer/nodes/7/attrs/weight'", "tensor 'layers.2.up.weight' is missing; did you mean 'layers.2.pu.weight'?"]),
    ("shape in one layer", GRAPH, tensors(lambda header: header["layers.2.attention.query.weight"].update(shape=[64, 16])), 3,
     ["graph.json:", "'/blocks/layer/nodes/0'", "expects input of width '16' as the weight [64, 16], got '32'", "in 'layers.2.query'"]),
    ("heads of a graph", GRAPH, node(3, attrs={"heads": 5}), 3,
     ["graph.json:", "'/blocks/layer/nodes/3/attrs/heads'", "'heads' 5 must divide the key's width '32'", "nearest number that does is 4", "in 'layers.0.mixed'"]),
    ("key-value heads of a graph", GRAPH, node(3, attrs={"heads": 4, "kv_heads": 3}), 3,
     ["'/blocks/layer/nodes/3/attrs/kv_heads'", "'kv_heads' 3 must divide 'heads' 4 and the key's width '32'", "nearest number that does is 4"]),
    ("cycle", GRAPH, node(0, inputs=["norm2"]), 3, ["graph.json:", "'/blocks/layer/nodes/0'", "cycle: query -> norm2 -> sum2"]),
    ("dim", GRAPH, graph(lambda document: document["inputs"][1].update(shape=["batch", "sqe"])), 3,
     ["graph.json:", "'/inputs/1/shape/1'", "unknown dim 'sqe'; did you mean 'seq'?"]),
    ("type of a mask", GRAPH, graph(lambda document: document["inputs"][1].update(dtype="f32")), 3,
     ["graph.json:", "'/inputs/1/dtype'", "a mask is i64, i32 or bool, got 'f32'"]),
    ("repetitions", GRAPH, graph(lambda document: document["nodes"][4].update(repeat=4)), 3,
     ["'/blocks/layer/nodes/0/attrs/weight'", "tensor 'layers.3.attention.query.weight' is missing; the files have no tensor of this layer", "in 'layers.3.query'"]),
    ("type of a key", BERT, config(num_attention_heads="2"), 3, ["config.json:", "'/num_attention_heads'", "expected an integer, got a string"]),
    ("heads", BERT, config(num_attention_heads=5), 3,
     ["config.json:", "'/num_attention_heads'", "5 does not divide 'hidden_size' 32", "nearest number that does is 4"]),
    ("key-value heads", LLAMA, config(num_key_value_heads=3), 3, ["config.json:", "'/num_key_value_heads'", "3 does not divide", "nearest number that does is 4"]),
    ("model type", BERT, config(model_type="berrt"), 4, ["config.json:", "'/model_type'", "supported: albert", "did you mean 'bert'?"]),
    ("architecture", BERT, config(architectures=["BertModle"]), 4, ["config.json:", "'/architectures/0'", "did you mean 'BertModel'?"]),
    ("activation", BERT, config(hidden_act="gelu_neww"), 4, ["config.json:", "'/hidden_act'", "did you mean 'gelu_new'?"]),
    ("tensor of a model folder", BERT, rename(QUERY, QUERY.replace("query", "qeury")), 3,
     ["model.safetensors: ", f"tensor '{QUERY}' is missing, expected with shape [32, 32]", "did you mean 'encoder.layer.1.attention.self.qeury.weight'?"]),
    ("layers", BERT, config(num_hidden_layers=3), 3,
     ["model.safetensors: ", "tensor 'encoder.layer.2.", "is missing", "no tensor of this layer", "see ", "config.json:", "'/num_hidden_layers'"]),
    ("shape of a tensor", BERT, config(intermediate_size=65), 3,
     ["model.safetensors: ", "'encoder.layer.0.intermediate.dense.weight' has shape [64, 32], expected [65, 32] (intermediate size x hidden size)", "see ", "config.json:", "'/intermediate_size'"]),
    ("heads of keys in a shape", LLAMA, config(num_key_value_heads=4), 3,
     ["model.safetensors: ", "'model.layers.0.self_attn.k_proj.weight' has shape [32, 64], expected [64, 64] (key-value heads * head size x hidden size)",
      "see ", "'/num_key_value_heads'", "see ", "'/head_dim'"]),
    ("key-value heads in a shape", LLAMA, config(num_key_value_heads=1), 3,
     ["model.safetensors: ", "expected [16, 64] (key-value heads * head size x hidden size)", "see ", "'/num_key_value_heads'", "see ", "'/head_dim'"]),
    ("vocabulary in a shape", LLAMA, config(vocab_size=64), 3, ["expected [64, 64] (vocabulary x hidden size)", "see ", "'/vocab_size'"]),
    ("positions in a shape", BERT, config(max_position_embeddings=32), 3, ["expected [32, 32] (positions x hidden size)", "see ", "'/max_position_embeddings'"]),
    ("misspelt key", BERT, edit_json("config.json", misspell_key), 3,
     ["model.safetensors: ", "has shape [186, 32], expected [186, 768]", "config.json has no '/hidden_size', its default is 768",
      "key 'hiden_size' is not known; did you mean 'hidden_size'?"]),
    ("truncated weights", BERT, truncate, 3, ["model.safetensors: ", "tensor 'encoder.layer.", "reach beyond the", "bytes of data in the file"]),
)  # fmt: skip


class ImportErrors(ToolTest):
    def check(self, folder, code, parts):
        lines = [
            self.fail_with(code, "explain", folder),
            self.fail_with(code, "compile", folder, "-o", self.path("m.so")),
        ]
        self.assertEqual(lines[0], lines[1])
        at = 0
        for part in parts:
            self.assertIn(part, lines[0][at:], lines[0])
            at = lines[0].index(part, at) + len(part)

    def test_wrong_models(self):
        for what, example, change, code, parts in CASES:
            with self.subTest(what=what):
                folder = self.path("model")
                shutil.rmtree(folder, ignore_errors=True)
                shutil.copytree(os.path.join(SOURCE, "examples", example), folder)
                change(folder)
                self.check(folder, code, parts)
        self.assertEqual(os.listdir(self.folder), ["model"])


if __name__ == "__main__":
    unittest.main()
