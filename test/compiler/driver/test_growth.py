# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Importing takes time linear in each list that a file can contain: instructions with n and 4n elements, counted by cachegrind.

Instruction counts do not depend on other load and need no special build. Lists are measured together, one model per group;
where a group grows too much, each list is measured by itself, and the message names the failing lists.
"""
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "commands"))
from base import GOLDENS, QUICK, SOURCE, TOOL, ToolTest
from texts import tokenizer

SMALL = 600
ROWS = 14000  # embedding rows: more than there are ids
MOST = 5.0  # n log n is 4.7 for the encoder's 3000 and 12000 tokens; the rest allows for memory growth


def patch(folder, name, **values):
    """Sets keys in a JSON file, which may be absent."""
    path = os.path.join(folder, name)
    content = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
    for key, value in values.items():
        old = content.get(key)
        content[key] = {**old, **value} if isinstance(old, dict) else old + value if isinstance(old, list) else value
    with open(path, "w", encoding="utf-8") as file:
        json.dump(content, file)


def remove(folder, name, key):
    path = os.path.join(folder, name)
    with open(path, encoding="utf-8") as file:
        content = json.load(file)
    content.pop(key, None)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(content, file)


def add_tensors(path, tensors):
    """Adds f32 zero tensors {name: shape} to a safetensors file."""
    with open(path, "rb") as file:
        data = file.read()
    (length,) = struct.unpack_from("<Q", data)
    header, body = json.loads(data[8 : 8 + length]), bytearray(data[8 + length :])
    for name, shape in tensors.items():
        size = 4
        for dim in shape:
            size *= dim
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(body), len(body) + size]}
        body += bytes(size)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + body)


def resize(path, rows):
    """Changes the row counts of tensors, selected by parts of their names, and fills them with zeros."""
    with open(path, "rb") as file:
        data = file.read()
    (length,) = struct.unpack_from("<Q", data)
    header, body = json.loads(data[8 : 8 + length]), data[8 + length :]
    new = bytearray()
    for name, entry in sorted((item for item in header.items() if item[0] != "__metadata__"), key=lambda item: item[1]["data_offsets"]):
        begin, end = entry["data_offsets"]
        piece, count = body[begin:end], next((count for part, count in rows.items() if part in name), None)
        if count:
            dim = 1 if entry["shape"][0] == 1 else 0
            row = len(piece) // entry["shape"][dim]
            piece, entry["shape"][dim] = piece[: row * count].ljust(row * count, b"\0"), count
        entry["data_offsets"] = [len(new), len(new) + len(piece)]
        new += piece
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + new)


def added(id, content, **flags):
    return {"id": id, "content": content, **{key: False for key in ("single_word", "lstrip", "rstrip", "normalized", "special")}, **flags}


# --- Encoder: the tokenizer's files, tensors, labels, prompts ---


def added_tokens(folder, n):
    first = 100
    tokens = [added(first + i, "<added%d>" % i, special=i % 2 == 0, normalized=i % 3 == 0) for i in range(n)]
    patch(folder, "tokenizer.json", added_tokens=tokens)


def added_tokens_of_settings(folder, n):
    patch(folder, "tokenizer_config.json", added_tokens_decoder={str(i): added(i, "<added%d>" % i) for i in range(100, 100 + n)})


def added_tokens_file(folder, n):
    patch(folder, "added_tokens.json", **{"<file%d>" % i: 100 + i for i in range(n)})


def extra_tokens(folder, n):
    patch(folder, "tokenizer_config.json", extra_special_tokens=["<extra%d>" % i for i in range(n)])


def named_tokens(folder, n):
    patch(folder, "tokenizer_config.json", **{"name%d_token" % i: "<name%d>" % i for i in range(n)})


def special_map(folder, n):
    patch(folder, "special_tokens_map.json", additional_special_tokens=["<map%d>" % i for i in range(n)])


def vocabulary(folder, n):
    path = os.path.join(folder, "tokenizer.json")
    with open(path, encoding="utf-8") as file:
        content = json.load(file)
    words = content["model"]["vocab"]
    words.update({"word%d" % i: len(words) + i for i in range(n)})
    with open(path, "w", encoding="utf-8") as file:
        json.dump(content, file)


def template(folder, n):
    token = lambda i: "<template%d>" % i
    single = [{"SpecialToken": {"id": token(i), "type_id": 0}} for i in range(n)] + [{"Sequence": {"id": "A", "type_id": 0}}]
    pair = [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}]
    special = {token(i): {"id": token(i), "ids": [3], "tokens": ["[SEP]"]} for i in range(n)}
    patch(folder, "tokenizer.json", post_processor={"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": special})


def replacements(folder, n):
    steps = [{"type": "Replace", "pattern": {"String": "\u4e00%d" % i}, "content": "x"} for i in range(n // 40)]
    patch(folder, "tokenizer.json", normalizer={"type": "Sequence", "normalizers": steps, **dict.fromkeys(("clean_text", "handle_chinese_chars", "strip_accents", "lowercase"))})


def character_class(folder, n):
    pattern = "[%s]" % "".join(chr(0x4E00 + 2 * i) for i in range(n))
    patch(folder, "tokenizer.json", pre_tokenizer={"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False})


def labels(folder, n):
    for key in ("id2label", "label2id"):
        remove(folder, "config.json", key)
    patch(folder, "config.json", id2label={str(i): "label %d" % i for i in range(n)}, label2id={"label %d" % i: i for i in range(n)})
    resize(os.path.join(folder, "model.safetensors"), {"classifier": n})


def config_keys(folder, n):
    patch(folder, "config.json", **{"other%d" % i: [i] for i in range(n)})


def tensors(folder, n):
    add_tensors(os.path.join(folder, "model.safetensors"), {"other.%d" % i: [1] for i in range(n)})


def prompts(folder, n):
    patch(folder, "modules.json")
    modules = [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
               {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}]
    with open(os.path.join(folder, "modules.json"), "w", encoding="utf-8") as file:
        json.dump(modules, file)
    os.makedirs(os.path.join(folder, "1_Pooling"), exist_ok=True)
    with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
        width = json.load(file)["hidden_size"]
    patch(folder, "1_Pooling/config.json", word_embedding_dimension=width, pooling_mode_mean_tokens=True)
    patch(folder, "config_sentence_transformers.json", prompts={"name%d" % i: "text %d: " % i for i in range(n)})


# --- Decoder: merges, generation settings, templates, shards ---


def merges(folder, n):
    first = [chr(0x4E00 + i) for i in range(200)]
    pairs = [(first[i % 200], first[i // 200]) for i in range(n)]
    words = {text: i for i, text in enumerate(first + [a + b for a, b in pairs])}
    model = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
             "fuse_unk": False, "byte_fallback": False, "vocab": words, "merges": [list(pair) for pair in pairs]}
    with open(os.path.join(folder, "tokenizer.json"), "w", encoding="utf-8") as file:
        json.dump({"version": "1.0", "added_tokens": [], "model": model}, file)


def generation(**values):
    return lambda folder, n: patch(folder, "generation_config.json", **{key: make(n) for key, make in values.items()})


def chat_templates(folder, n):
    patch(folder, "tokenizer_config.json", chat_template=[{"name": "default" if i == 0 else "name%d" % i, "template": "{{ messages }}"} for i in range(n)])


def shards(folder, n):
    add_tensors(os.path.join(folder, "model.safetensors"), {"part.%d" % i: [1] for i in range(n)})
    with open(os.path.join(folder, "model.safetensors"), "rb") as file:
        data = file.read()
    (length,) = struct.unpack_from("<Q", data)
    names = [name for name in json.loads(data[8 : 8 + length]) if name != "__metadata__"]
    os.rename(os.path.join(folder, "model.safetensors"), os.path.join(folder, "model-1.safetensors"))
    patch(folder, "model.safetensors.index.json", weight_map={name: "model-1.safetensors" for name in names})


# --- Graph ---


def nodes(folder, n):
    path = os.path.join(folder, "graph.json")
    with open(path, encoding="utf-8") as file:
        graph = json.load(file)
    last = graph["outputs"][0]
    for i in range(n // 4):
        graph["nodes"].append({"name": "chain%d" % i, "op": "add", "inputs": [last, last]})
        last = "chain%d" % i
    graph["outputs"][0] = last
    with open(path, "w", encoding="utf-8") as file:
        json.dump(graph, file)


def outputs(folder, n):
    path = os.path.join(folder, "graph.json")
    with open(path, encoding="utf-8") as file:
        graph = json.load(file)
    for i in range(n // 8):
        graph["nodes"].append({"name": "side%d" % i, "op": "add", "inputs": [graph["outputs"][0]] * 2})
    graph["outputs"] += ["side%d" % i for i in range(n // 8)]
    with open(path, "w", encoding="utf-8") as file:
        json.dump(graph, file)


def pieces(folder, n):
    model = {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0]] + [["word%d" % i, -float(i)] for i in range(n)]}
    with open(os.path.join(folder, "tokenizer.json"), "w", encoding="utf-8") as file:
        json.dump({"version": "1.0", "added_tokens": [], "model": model}, file)


# --- GGUF ---


def gguf_string(text):
    return struct.pack("<Q", len(text)) + text.encode()


def skip_value(data, at, kind):
    """Returns the end position of a GGUF value."""
    sizes = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
    if kind == 8:
        return at + 8 + struct.unpack_from("<Q", data, at)[0]
    if kind != 9:
        return at + sizes[kind]
    of, count = struct.unpack_from("<IQ", data, at)
    at += 12
    for _ in range(count):
        at = skip_value(data, at, of)
    return at


def edit_gguf(folder, keys):
    """Adds keys, as bytes."""
    path = os.path.join(folder, "model.gguf")
    with open(path, "rb") as file:
        data = file.read()
    magic, tensor_count, key_count = struct.unpack_from("<QQQ", data)
    at = 24
    for _ in range(key_count):
        at += 8 + struct.unpack_from("<Q", data, at)[0]
        at = skip_value(data, at + 4, struct.unpack_from("<I", data, at)[0])
    infos = at
    for _ in range(tensor_count):
        at += 8 + struct.unpack_from("<Q", data, at)[0]
        at += 4 + 8 * struct.unpack_from("<I", data, at)[0] + 12
    head = struct.pack("<QQQ", magic, tensor_count, key_count + len(keys)) + data[24:infos] + b"".join(keys) + data[infos:at]
    with open(path, "wb") as file:
        file.write(head + bytes(-len(head) % 32) + data[-(-at // 32) * 32 :])


def gguf_keys(folder, n):
    edit_gguf(folder, keys=[gguf_string("other.key%d" % i) + struct.pack("<II", 4, i) for i in range(n)])


def gguf_array(folder, n):
    edit_gguf(folder, keys=[gguf_string("other.list") + struct.pack("<IIQ", 9, 8, n) + b"".join(gguf_string("text%d" % i) for i in range(n))])


# --- Adapters and shortlists: these return the command's flags ---


def adapter(folder, tensors=None, **settings):
    """An adapter for the query projections with more tensors and settings."""
    path, width = os.path.join(folder, "adapter"), 64
    os.makedirs(path, exist_ok=True)
    if not os.path.exists(os.path.join(path, "adapter_model.safetensors")):
        with open(os.path.join(path, "adapter_model.safetensors"), "wb") as file:
            file.write(struct.pack("<Q", 8) + b"{}      ")
        names = ["base_model.model.model.layers.%d.self_attn.q_proj.lora_" % i for i in range(2)]
        add_tensors(os.path.join(path, "adapter_model.safetensors"),
                    {**{name + "A.weight": [2, width] for name in names}, **{name + "B.weight": [width, 2] for name in names}})
        patch(path, "adapter_config.json", peft_type="LORA", r=2, lora_alpha=4, target_modules=["q_proj"])
    add_tensors(os.path.join(path, "adapter_model.safetensors"), tensors or {})
    patch(path, "adapter_config.json", **settings)
    return ["--lora", path]


def target_modules(folder, n):
    return adapter(folder, target_modules=["module%d" % i for i in range(n)])


def rank_patterns(folder, n):
    return adapter(folder, rank_pattern={"module%d" % i: 3 for i in range(n)}, alpha_pattern={"module%d" % i: 5 for i in range(n)})


def trained_tokens(folder, n):
    names = {"base_model.model.model.embed_tokens.token_adapter.trainable_tokens_delta": [n, 64]}
    return adapter(folder, names, trainable_token_indices={"embed_tokens": list(range(n))})


def shortlist(folder, n):
    words = ["<s>", "<pad>", "</s>", "<unk>", *("w%d" % i for i in range(n))]
    vocabulary = {word: i for i, word in enumerate(words)}
    with open(os.path.join(folder, "tokenizer.json"), "w", encoding="utf-8") as file:
        json.dump({"version": "1.0", "added_tokens": [], "pre_tokenizer": {"type": "WhitespaceSplit"},
                   "model": {"type": "WordLevel", "unk_token": "<unk>", "vocab": vocabulary}}, file)
    patch(folder, "config.json", decoder_vocab_size=ROWS)
    path = os.path.join(folder, "lex.s2t")
    with open(path, "w", encoding="utf-8") as file:
        file.writelines("w%d w%d 0.%d\n" % ((7 * i + k) % n, i, 9 - k) for i in range(n) for k in range(3))
    return ["--shortlist", path]


GROUPS = {
    "encoder": ("bert-classify", [added_tokens, extra_tokens, named_tokens, special_map, vocabulary, template, replacements, character_class, labels, config_keys, tensors]),
    "settings": ("bert", [added_tokens_of_settings, extra_tokens, prompts]),
    "files": ("bert", [added_tokens_file, extra_tokens]),
    "decoder": ("llama-gqa", [
        merges,
        generation(stop_strings=lambda n: ["stop%d" % i for i in range(n)]),
        generation(suppress_tokens=lambda n: [i % 90 for i in range(n)], begin_suppress_tokens=lambda n: [i % 90 for i in range(n)]),
        generation(bad_words_ids=lambda n: [[1 + i % 90, 1 + i // 90] for i in range(n)]),
        generation(eos_token_id=lambda n: [i % 90 for i in range(n)]),
        chat_templates,
        shards,
    ]),
    "graph": (os.path.join("..", "..", "examples", "decomposed-attention"), [nodes, outputs]),
    "gguf": (os.path.join("gguf", "q8-0"), [gguf_keys, gguf_array]),
    "adapter": ("llama-gqa", [target_modules, rank_patterns, trained_tokens]),
    "shortlist": (os.path.join("encoder-decoders", "marian"), [shortlist]),
}


class Growth(ToolTest):
    def count(self, base, lists, n):
        """Counts the instructions for importing a model whose lists have n elements."""
        folder = self.path("model")
        shutil.copytree(os.path.join(GOLDENS, base), folder, ignore=shutil.ignore_patterns("*.in.*", "*.out.*", "cases.json", "encode.*"))
        if base.startswith("bert"):
            patch(folder, "tokenizer.json", **tokenizer())
        if os.path.exists(os.path.join(folder, "config.json")):
            patch(folder, "tokenizer_config.json", tokenizer_class="PreTrainedTokenizerFast")
            patch(folder, "config.json", vocab_size=ROWS)
            resize(os.path.join(folder, "model.safetensors"), dict.fromkeys(("word_embeddings", "embed_tokens", "lm_head", "shared", "final_logits"), ROWS))
        flags = list(dict.fromkeys(flag for make in lists for flag in make(folder, n) or []))
        model = next((os.path.join(folder, name) for name in ("graph.json", "model.gguf") if os.path.exists(os.path.join(folder, name))), folder)
        counter = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
        done = subprocess.run([*counter, TOOL, "compile", model, *flags, "--emit", "attn", "-o", self.path("out.mlir")], capture_output=True, text=True, env={**os.environ, **QUICK})
        self.assertEqual(done.returncode, 0, done.stderr)
        shutil.rmtree(folder)
        return int(re.search(r"I\s+refs:\s+([\d,]+)", done.stderr)[1].replace(",", ""))

    def test_lists(self):
        without = {}
        for group, (base, lists) in GROUPS.items():
            with self.subTest(group):
                if base not in without:
                    without[base] = self.count(base, [], 0)
                nothing = without[base]
                ratio = self.ratio(base, lists, nothing)
                if ratio > MOST:
                    each = {make.__name__: round(self.ratio(base, [make], nothing), 2) for make in lists}
                    self.fail(f"instructions grow {ratio:.2f} times with 4 times the elements; by list: {each}")

    def ratio(self, base, lists, nothing):
        few, many = (self.count(base, lists, n) - nothing for n in (SMALL, 4 * SMALL))
        return many / few


if __name__ == "__main__":
    if not shutil.which("valgrind"):
        print("skipped: valgrind is not installed")
        sys.exit(77)
    unittest.main()
