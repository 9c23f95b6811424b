# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares quantized or bf16 models with float32 models. Standard library only.

A variant is a model compiled with other flags. For models with logits the measures compare next-token distributions, for others
embeddings: the mean over a text's last hidden states, as in sentence-transformers.
"""
import array
import json
import math
import os
import random
import subprocess

REFERENCE = "f32"
GROUPS = ("32", "64", "128", "1024")
VARIANTS = {REFERENCE: [], "bf16": ["--dtype", "bf16"], "cache int8": ["--kv-dtype", "int8"],
            **{f"{kind} {group}": ["--quantize", kind, "--group-size", group] for kind in ("int8", "int4") for group in GROUPS},
            "int8 128 and bf16": ["--quantize", "int8", "--dtype", "bf16"],
            "int8 128 by f32": ["--quantize", "int8", "--activations", "f32"],
            "int4 32 by f32": ["--quantize", "int4", "--activations", "f32"],
            "int4 32 head int8": ["--quantize", "int4", "--quantize-head", "int8"]}


def product_bits(variant):
    """Returns bits per GEMM weight without the head, including its share of the group scale."""
    kind, *rest = variant.split()
    return {"int8": 8, "int4": 4}[kind] + 16 / int(rest[0]) if "int" in kind else {"bf16": 16}.get(kind, 32)


# The suffix for variants with activation-aware quantization.
CALIBRATED = " calibrated"
CODES = {"F32": "f", "I64": "q"}
# Random ids start here: the first ids are mostly special tokens.
FIRST_ID = 5


def read_tensors(path):
    """Returns {name: (shape, array)} for a safetensors file."""
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))
        tensors = {}
        for name, entry in header.items():
            if name != "__metadata__":
                begin, end = entry["data_offsets"]
                file.seek(8 + size + begin)
                tensors[name] = (entry["shape"], array.array(CODES[entry["dtype"]], file.read(end - begin)))
    return tensors


def write_tensors(path, tensors):
    """Writes {name: (shape, array)} with type `q` or `f`."""
    header, offset = {}, 0
    for name, (shape, values) in tensors.items():
        size = len(values) * values.itemsize
        dtype = next(dtype for dtype, code in CODES.items() if code == values.typecode)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for _, values in tensors.values():
            file.write(values.tobytes())


# Figures.

def log_softmax(row):
    top = max(row)
    log_sum = top + math.log(math.fsum(math.exp(value - top) for value in row))
    return [value - log_sum for value in row]


def divergence(reference, other):
    """Returns KL(reference || other) for two lists of log-probabilities, in nats."""
    return math.fsum(math.exp(one) * (one - two) for one, two in zip(reference, other))


def cosine(one, two):
    dot, norms = sum(x * y for x, y in zip(one, two)), sum(x * x for x in one) * sum(y * y for y in two)
    return dot / math.sqrt(norms) if norms else float(list(one) == list(two))


def percentile(values, share):
    """Returns the least value that this share of the values does not exceed."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def compare_logits(reference, other, tokens):
    """`reference` and `other`: (shape, array), the last axis is the vocabulary; `tokens`: mask of rows with real tokens."""
    width = reference[0][-1]
    if reference[0] != other[0]:
        raise ValueError(f"logits have shape {other[0]}, expected {reference[0]}")
    divergences, agreed = [], 0
    for row in (number for number, real in enumerate(tokens) if real):
        one, two = (log_softmax(values[row * width:(row + 1) * width]) for _, values in (reference, other))
        divergences.append(divergence(one, two))
        agreed += one.index(max(one)) == two.index(max(two))
    return {"kl_mean": math.fsum(divergences) / len(divergences), "kl_p99": percentile(divergences, 0.99),
            "top1": agreed / len(divergences)}


def embeddings(states, tokens):
    """Returns a vector for each text: the mean over its tokens in [batch, seq, hidden], or the row in [batch, hidden]."""
    shape, values = states
    width = shape[-1]
    if len(shape) == 2:
        return [values[row * width:(row + 1) * width] for row in range(shape[0])]
    means = []
    for text in range(shape[0]):
        rows = [row for row in range(text * shape[1], (text + 1) * shape[1]) if tokens[row]]
        means.append([sum(column) / len(rows) for column in zip(*(values[row * width:(row + 1) * width] for row in rows))])
    return means


def compare_embeddings(reference, other, tokens):
    cosines = [cosine(one, two) for one, two in zip(embeddings(reference, tokens), embeddings(other, tokens))]
    return {"cosine_least": min(cosines), "cosine_mean": sum(cosines) / len(cosines)}


def perplexity(logprobs):
    return math.exp(-math.fsum(logprobs) / len(logprobs))


# Inputs.

class Inputs:
    """Token ids for a model: ragged lists, padded at the end for its entries."""

    def __init__(self, texts, targets=None):
        self.texts, self.targets = texts, targets

    @staticmethod
    def padded(texts):
        width = max(map(len, texts))
        ids = array.array("q", (token for text in texts for token in (*text, *[0] * (width - len(text)))))
        mask = array.array("q", (int(column < len(text)) for text in texts for column in range(width)))
        return ([len(texts), width], ids), ([len(texts), width], mask)

    def tensors(self, entry):
        """Returns the arguments for an entry by name."""
        ids, mask = self.padded(self.texts)
        found = {"input_ids": ids, "attention_mask": mask}
        if self.targets:
            found["labels" if entry == "score" else "decoder_input_ids"] = self.padded(self.targets)[0]
        return found

    def tokens(self):
        """Returns 1 for each logits row that counts, for targets if there are some."""
        return self.padded(self.targets or self.texts)[1][1]


def random_inputs(vocabulary, count, length, seed, with_targets=False):
    """Texts with equal lengths, so that no row is padding."""
    source = random.Random(seed)
    first = min(FIRST_ID, vocabulary - 1)
    draw = lambda: [[source.randrange(first, vocabulary) for _ in range(length)] for _ in range(count)]
    return Inputs(draw(), draw() if with_targets else None)


def file_inputs(run, model, path, count, length, joined):
    """Returns the texts in a file, one per line; `joined`: as one text in windows with `length` tokens, for generative models."""
    flags = ["--no-special"] if joined else []
    lines = run(["tokenize", model, "--no-truncation", *flags, "--file", path]).splitlines()
    texts = [json.loads(line)["ids"] for line in lines]
    if joined:
        ids = [token for text in texts for token in text]
        texts = [ids[at:at + length] for at in range(0, len(ids) - length + 1, length)]
    texts = [text[:length] for text in texts if text][:count]
    if not texts:
        raise ValueError(f"'{path}' has fewer than {length} tokens" if joined else f"'{path}' has no texts")
    return Inputs(texts)


# Variants.

class Quality:
    """The variants of one model and its float32 baseline. `tool` is transom, `place` a folder for generated files."""

    def __init__(self, tool, folder, place, flags=(), calibration=None):
        self.tool, self.folder, self.place, self.flags, self.calibration = tool, folder, place, list(flags), calibration
        self.model = self.compile(REFERENCE)
        self.described = self.inspect(self.model)
        entries = {entry["name"]: entry for entry in self.described["entries"]}
        self.entry = "logits" if "logits" in entries else "encode"
        if self.entry not in entries:
            raise ValueError(f"'{folder}' has neither an entry 'logits' nor 'encode'; it has {', '.join(entries)}")
        self.scores = "score" in entries
        self.has_targets = any(one["name"] == "decoder_input_ids" for one in entries[self.entry]["inputs"])

    def run(self, words):
        done = subprocess.run([self.tool, *words], text=True, capture_output=True)
        if done.returncode:
            raise RuntimeError((done.stderr.strip() or f"exit {done.returncode}").splitlines()[-1])
        return done.stdout

    def compile(self, variant):
        path = os.path.join(self.place, variant.replace(" ", "-") + ".so")
        plain = variant.removesuffix(CALIBRATED)
        calibration = ["--calibrate", self.calibration] if plain != variant else []
        self.run(["compile", self.folder, "-q", *VARIANTS[plain], *calibration, *self.flags, "-o", path])
        return path

    def inspect(self, model):
        return json.loads(self.run(["inspect", "--json", model]))

    def vocabulary(self):
        """Ids below it are valid."""
        if "vocabulary" in self.described.get("decoder", {}) and not self.has_targets:
            return self.described["decoder"]["vocabulary"]
        with open(os.path.join(self.folder, "config.json"), encoding="utf-8") as file:
            return json.load(file)["vocab_size"]

    def results(self, model, entry, inputs):
        """Returns the first result of an entry, in manifest order."""
        before, after = (os.path.join(self.place, name + ".safetensors") for name in ("inputs", "results"))
        write_tensors(before, inputs.tensors(entry))
        self.run(["run", model, entry, "--in", before, "--out", after])
        outputs = next(one["outputs"] for one in self.described["entries"] if one["name"] == entry)
        return read_tensors(after)[outputs[0]["name"]]

    def figures(self, results, reference, inputs):
        compare = compare_logits if self.entry == "logits" else compare_embeddings
        return compare(reference, results, inputs.tokens())

    def measure(self, variant, model, inputs, reference=None):
        """Returns the measures for a variant, and its results; `reference`: the float32 results."""
        described = self.inspect(model)
        results = self.results(model, self.entry, inputs)
        row = {"variant": variant, "product_bits": product_bits(variant.removesuffix(CALIBRATED)), "bits": 8 * described["weights_bytes"] / described["parameters"],
               **self.figures(results, reference or results, inputs)}
        if self.scores:
            row["perplexity"] = perplexity(self.results(model, "score", inputs)[1])
        return row, results


def measure_all(quality, inputs, variants, say):
    """Returns the rows for all variants that compile, and the float32 results."""
    first, reference = quality.measure(REFERENCE, quality.model, inputs)
    rows = [first]
    if quality.calibration:
        variants = [name for variant in variants for name in
                    ((variant, variant + CALIBRATED) if "--quantize" in VARIANTS[variant] else (variant,))]
    for variant in variants:
        if variant == REFERENCE:
            continue
        try:
            model = quality.compile(variant)
        except RuntimeError as error:
            say(f"without {variant}: {error}")
            continue
        rows.append(quality.measure(variant, model, inputs, reference)[0])
        os.remove(model)
    return rows, reference
