#!/usr/bin/env python3
# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# bad-models.py TRANSOM SOURCE: `transom compile` rejects invalid models, each made from a valid one by one change: the
# documented exit code, a one-line error that names the location, and no output files. The unchanged models pass.
import json
import os
import struct
import subprocess
import sys
import tempfile

BERT, GRAPH = "test/goldens/heads/bert-next-sentence", "examples/decomposed-attention"
BART = "test/goldens/random-beams/bart"


def text(name, edit):
    """Changes a file as text."""
    def apply(folder):
        path = os.path.join(folder, name)
        with open(path, encoding="utf-8") as stream:
            before = stream.read()
        after = edit(before)
        assert after != before
        write(path, after)
    return apply


def write(path, contents):
    os.unlink(path)  # the files are links to the good ones
    with open(path, "w" if isinstance(contents, str) else "wb") as stream:
        stream.write(contents)


def keys(name, **changes):
    """Changes top-level keys in a JSON file."""
    return text(name, lambda before: json.dumps({**json.loads(before), **changes}))


def config(**changes):
    return keys("config.json", **changes)


def node(number, **changes):
    """Changes keys in one graph node."""
    def edit(before):
        graph = json.loads(before)
        graph["nodes"][number].update(changes)
        return json.dumps(graph)
    return text("graph.json", edit)


def header(edit):
    """Changes the header of model.safetensors."""
    def apply(folder):
        path = os.path.join(folder, "model.safetensors")
        with open(path, "rb") as stream:
            data = stream.read()
        (length,) = struct.unpack_from("<Q", data)
        tensors = json.loads(data[8:8 + length])
        edit(tensors)
        new = json.dumps(tensors).encode()
        write(path, struct.pack("<Q", len(new)) + new + data[8 + length:])
    return apply


def rename(old, new):
    return header(lambda tensors: tensors.update({new: tensors.pop(old)}))


def reshape(name, shape):
    return header(lambda tensors: tensors[name].update(shape=shape))


def as_dtype(name, dtype):
    return header(lambda tensors: tensors[name].update(dtype=dtype))


def remove(name):
    return lambda folder: os.unlink(os.path.join(folder, name))


def shards(folder):
    """An index whose shard is outside the folder."""
    remove("model.safetensors")(folder)
    with open(os.path.join(folder, "model.safetensors.index.json"), "w") as stream:
        json.dump({"weight_map": {"x": "../model.safetensors"}}, stream)


QUERY = "bert.encoder.layer.0.attention.self.query.weight"
CASES = [
    # (name, base, change, exit code, parts of the line)
    ("no model", BERT, remove("config.json"), 6, ["config.json"]),
    ("no weights", BERT, remove("model.safetensors"), 6, ["model.safetensors"]),
    ("malformed", BERT, text("config.json", lambda t: t[:-3]), 3, ["config.json:"]),
    ("empty", BERT, text("config.json", lambda t: ""), 3, ["config.json"]),
    ("deep", BERT, text("config.json", lambda t: '{"a":' + "[" * 70 + "]" * 70 + "}"), 3, ["config.json:1:"]),
    ("duplicate key", BERT, text("config.json", lambda t: t.replace("{", '{"vocab_size": 37,', 1)), 3, ["vocab_size"]),
    ("model_type", BERT, config(model_type="bort"), 4, ["/model_type", "bort", "xlm-roberta"]),
    ("head", BERT, config(architectures=["BertForMultipleChoice"]), 4, ["BertForMultipleChoice"]),
    ("heads", BERT, config(num_attention_heads=7), 3, ["/num_attention_heads", "7", "30"]),
    ("layers", BERT, config(num_hidden_layers=5000), 3, ["/num_hidden_layers", "4096"]),
    ("activation", BERT, config(hidden_act="swish2"), 4, ["/hidden_act", "swish2", "gelu"]),
    ("decoder", BERT, config(is_decoder=True), 4, ["is_decoder"]),
    ("missing tensor", BERT, rename(QUERY, "elsewhere"), 3, [QUERY, "[30, 30]"]),
    ("misshaped tensor", BERT, reshape(QUERY, [15, 60]), 3, [QUERY, "[15, 60]", "[30, 30]"]),
    ("tensor's type", BERT, as_dtype(QUERY, "I32"), 4, [QUERY, "I32", "BF16"]),
    ("shard outside", BERT, shards, 3, ["../model.safetensors"]),
    ("forced token", BART, config(forced_bos_token_id=55), 3, ["/forced_bos_token_id", "id 55", "vocabulary of 55 tokens"]),
    ("start token", BART, config(decoder_start_token_id=99), 3, ["/decoder_start_token_id", "99", "vocabulary of 55 tokens"]),
    ("bad word", BART, config(bad_words_ids=[[1], [2, 55]]), 3, ["/bad_words_ids/1/1", "55"]),
    ("graph: unknown op", GRAPH, node(0, op="embeding"), 4, ["/nodes/0/op", "embeding", "did you mean 'embedding'"]),
    ("graph: unknown key", GRAPH, keys("graph.json", edges=[]), 3, ["edges"]),
    ("graph: unknown attribute", GRAPH, node(0, attrs={"table": "tokens", "tabel": 1}), 3, ["tabel"]),
    ("graph: unknown dim", GRAPH, node(7, attrs={"shape": ["batch", "sek", 3, 8]}), 3, ["sek", "did you mean 'seq'"]),
    ("graph: dangling edge", GRAPH, node(3, inputs=["tokens", "nowhere"]), 3, ["/nodes/3/inputs/1", "nowhere"]),
    ("graph: cycle", GRAPH, node(3, inputs=["tokens", "sum"]), 3, ["cycle", "sum"]),
    ("graph: shape clash", GRAPH, node(10, attrs={"permutation": [0, 2, 3, 1]}), 3, ["graph.json:", "/nodes/"]),
    ("graph: name twice", GRAPH, node(3, name="tokens"), 3, ["'tokens' is used twice"]),
    ("graph: tensor", GRAPH, node(0, attrs={"table": "absent"}), 3, ["tensor 'absent' is missing"]),
    ("graph: dtype", GRAPH, text("graph.json", lambda t: t.replace('"i64"', '"u7"')), 3, ["u7"]),
    ("graph: weights outside", GRAPH, keys("graph.json", weights=["../model.safetensors"]), 3, ["../model"]),
    ("graph: one graph and several", GRAPH, keys("graph.json", graphs={}), 3, ["unknown key 'inputs'"]),
    ("graph: version", GRAPH, keys("graph.json", transom=2), 4, ["2"]),
]


def compile_changed(transom, source, base, change):
    """Returns the finished process, and the output folder's contents."""
    with tempfile.TemporaryDirectory() as scratch:
        model, out = os.path.join(scratch, "model"), os.path.join(scratch, "out")
        os.mkdir(model)
        os.mkdir(out)
        for name in os.listdir(os.path.join(source, base)):
            os.symlink(os.path.join(source, base, name), os.path.join(model, name))
        if change:
            change(model)
        done = subprocess.run([transom, "compile", model, "-o", os.path.join(out, "model.so"), "-q"],
                              capture_output=True, text=True, timeout=400)
        return done, os.listdir(out)


def problem(done, left, code, parts):
    """Returns the error in a rejection, or nothing."""
    lines = done.stderr.splitlines()
    if done.returncode != code:
        return f"exits {done.returncode}, expected {code}: {done.stderr.strip()}"
    if left:
        return f"left {left} in the output folder"
    if len(lines) != 1 or not lines[0].startswith("transom: error: "):
        return f"says {lines}"
    missing = [part for part in parts if part not in lines[0]]
    return f"no {missing} in: {lines[0]}" if missing else None


def main():
    transom, source = sys.argv[1:3]
    failed = 0
    for base in (BERT, BART, GRAPH):
        done, left = compile_changed(transom, source, base, None)
        if done.returncode or left != ["model.so"]:
            sys.exit(f"{base} as it is: exits {done.returncode}, left {left}: {done.stderr}")
    for what, base, change, code, parts in CASES:
        wrong = problem(*compile_changed(transom, source, base, change), code, parts)
        print("FAIL" if wrong else "ok  ", what, wrong or "", flush=True)
        failed += bool(wrong)
    print(f"{len(CASES) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


main()
