# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table cells: measured tasks, engines, and limits."""
from typing import NamedTuple


class Cell(NamedTuple):
    """A table row. `rival` names the rivals' tasks; the fastest counts. None: the same task."""
    title: str
    task: str
    ratio: float = None  # min speed relative to the best rival
    share: float = None  # min share of the host's limit
    most_ms: float = None
    rival: tuple = None
    less: str = None  # the task whose time is subtracted, on each engine

    def rival_tasks(self):
        return self.rival or (self.task,)


class Group(NamedTuple):
    """Cells that are measured together."""
    model: str
    cells: list
    engine: str = "transom"
    rivals: tuple = ("openvino", "onnxruntime", "ctranslate2")
    others: tuple = ()  # transom engines, shown but not rivals
    threads: int = None
    env: dict = {}  # by engine

    def tasks(self):
        return list(dict.fromkeys(task for cell in self.cells for task in (cell.task, cell.less) if task))


BATCHINGS = ("texts-1", "texts-8", "texts-32")
PASSAGES = ("passages-1", "passages-8", "passages-32")
# Restricts rival libraries to 256-bit code. MLAS, used by OpenVINO and ONNX Runtime, ignores such variables.
AVX2 = {"BENCH_HIDE_AVX512": "1", "DNNL_MAX_CPU_ISA": "AVX2", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        "ATEN_CPU_CAPABILITY": "avx2"}
BYTES = ("openvino-int8", "onnxruntime-int8", "ctranslate2-int8")
TRANSLATORS = ("ctranslate2", "ctranslate2-int8", "ctranslate2-bf16")
NARROW = {"TRANSOM_FORCE_ISA": "avx2"}


def mixed_texts(model, title):
    """Encoder groups on texts with mixed lengths: all in one call for transom, against the rivals' best batching."""
    return {
        model: Group(model, [Cell(f"{title} f32, texts of mixed length", "texts", 1.40, 0.85, rival=BATCHINGS)]),
        model + "-bf16": Group(model, [Cell(f"{title} bf16, texts of mixed length", "texts", 1.30, 0.80, rival=BATCHINGS)],
                               engine="transom-bf16", rivals=("openvino-bf16",)),
    }


def whole_numbers(model, title):
    """Decoder groups in int8 and int4."""
    name = model.partition("-")[0]
    return {
        name + "-int8": Group(model, [
            Cell(f"{title} int8 decode", "decode-64", 1.60, 0.85),
            Cell(f"{title} int8 prefill 512", "prefill-512", 1.50, 0.60),
        ], engine="transom-int8", rivals=("llamacpp-q8_0", "ctranslate2-int8")),
        name + "-int8-together": Group(model, [Cell(f"{title} int8 decode, 16 sequences", "together-16", 1.50)],
                                       engine="transom-int8", rivals=("llamacpp-q8_0",)),
        name + "-int4": Group(model, [
            Cell(f"{title} int4 decode", "decode-64", 1.50, 0.80),
            Cell(f"{title} int4 prefill 512", "prefill-512", 1.50, 0.55),
            Cell(f"{title} int4 decode, 16 sequences", "together-16", 1.50),
        ], engine="transom-int4", rivals=("llamacpp-q4_0", "llamacpp-q4_k_m")),
    }


GROUPS = {
    "base": Group("bert-base", [
        Cell("BERT-base f32 1x8", "1x8", 1.60, 0.80),
        Cell("BERT-base f32 1x16", "1x16", 1.60, 0.80),
        Cell("BERT-base f32 1x128", "1x128", 1.10, 0.90),
        Cell("BERT-base f32 8x128", "8x128", 1.05, 0.91),
        Cell("BERT-base f32 1x512", "1x512", 1.05, 0.91),
    ], others=("transom-onednn",)),
    "large": Group("bert-large", [
        Cell("BERT-large f32 1x384", "1x384", 1.05, 0.90),
        Cell("BERT-large f32 4x384", "4x384", 1.05, 0.90),
    ]),
    "one-thread": Group("bert-base", [Cell("BERT-base f32 1x128, one thread", "1x128", 1.08, 0.91)], threads=1),
    "bf16": Group("bert-base", [
        Cell("BERT-base bf16 1x128", "1x128", 1.10, 0.83),
        Cell("BERT-base bf16 8x128", "8x128", 1.10, 0.87),
        Cell("BERT-base bf16 1x512", "1x512", 1.10),
    ], engine="transom-bf16", rivals=("openvino-bf16",)),
    "texts": Group("minilm", [
        Cell("MiniLM f32, 256 texts, one call", "texts", 1.40, 0.87, rival=BATCHINGS),
        Cell("MiniLM f32, 256 texts, one by one", "texts-1", 1.25, 0.80, rival=("texts-1",)),
        Cell("the same against the best batching", "texts-1", 1.00, rival=BATCHINGS),
        Cell("MiniLM f32, 100 passages of 100 tokens", "passages", 1.30, rival=PASSAGES),
        Cell("MiniLM f32 1x8", "1x8", 1.60, 0.80),
        Cell("MiniLM f32 1x16", "1x16", 1.60, 0.80),
    ], others=("transom-onednn",)),
    "texts-bf16": Group("minilm", [Cell("MiniLM bf16, 256 texts, one call", "texts", 1.30, 0.80, rival=BATCHINGS)],
                        engine="transom-bf16", rivals=("openvino-bf16",)),
    **mixed_texts("bert-base", "BERT-base"),
    **mixed_texts("xlm-roberta-base", "XLM-R-base"),
    **mixed_texts("mpnet-base", "MPNet-base"),
    **mixed_texts("modernbert-base", "ModernBERT-base"),
    **mixed_texts("deberta-v3-base", "DeBERTa-v3-base"),
    "int8": Group("bert-base", [
        Cell("BERT-base int8 8x128", "8x128", 1.40, 0.60),
        Cell("BERT-base int8, texts of mixed length", "texts", 1.40, rival=BATCHINGS),
    ], engine="transom-1024-int8", rivals=BYTES, others=("transom-int8", "transom-bf16")),
    "texts-int8": Group("minilm", [Cell("MiniLM int8, 256 texts, one call", "texts", 1.40, 0.60, rival=BATCHINGS)],
                        engine="transom-1024-int8", rivals=BYTES, others=("transom-int8", "transom-bf16")),
    "load": Group("minilm", [Cell("MiniLM, load to first result", "load", 3.00, most_ms=30)]),
    "avx2": Group("bert-base", [Cell("BERT-base f32 8x128, AVX2", "8x128", 1.05, 0.90)],
                  rivals=("transom-onednn", "openvino", "torch"),
                  env={"transom": NARROW, "transom-onednn": {**NARROW, **AVX2}, "openvino": AVX2, "torch": AVX2}),
    "llama": Group("llama-213m", [
        Cell("Llama 213 M f32 decode", "decode-64", 1.20, 0.88),
        Cell("Llama 213 M f32 prefill 512", "prefill-512", 1.60, 0.88),
    ], rivals=("llamacpp", "ctranslate2")),
    "llama-bf16": Group("llama-213m", [
        Cell("Llama 213 M bf16 decode", "decode-64", 1.35, 0.88),
        Cell("Llama 213 M bf16 decode at 4096", "decode-4096", 1.50, 0.80),
        Cell("Llama 213 M bf16 prefill 512", "prefill-512", 1.70, 0.80),
        Cell("Llama 213 M bf16 decode, 8 sequences", "together-8", 1.50),
    ], engine="transom-bf16", rivals=("llamacpp-bf16",)),
    "gpt2": Group("gpt2", [
        Cell("GPT-2 f32 decode", "decode-64", 1.40, 0.88),
        Cell("GPT-2 f32 prefill 512", "prefill-512", 1.60, 0.88),
    ], rivals=("llamacpp", "ctranslate2")),
    "gpt2-bf16": Group("gpt2", [
        Cell("GPT-2 bf16 decode", "decode-64", 1.35, 0.88),
        Cell("GPT-2 bf16 prefill 512", "prefill-512", 1.70, 0.80),
    ], engine="transom-bf16", rivals=("llamacpp-bf16",)),
    **whole_numbers("llama-213m", "Llama 213 M"),
    **whole_numbers("gpt2", "GPT-2"),
    "marian-int8": Group("marian", [
        Cell("Marian int8, 8 sentences, greedy", "greedy", 3.30, 0.25),
        Cell("Marian int8, 8 sentences, 4 beams", "beams", 2.50),
    ], engine="transom-int8", rivals=TRANSLATORS),
    "marian": Group("marian", [
        Cell("Marian f32, 8 sentences, greedy", "greedy", 2.20, 0.60),
        Cell("Marian f32, 8 sentences, 4 beams", "beams", 1.15),
        Cell("Marian f32, encoder and first token", "first"),
        Cell("Marian f32, decoder, greedy", "greedy", less="first"),
        Cell("Marian f32, decoder, 4 beams", "beams", less="first"),
    ], rivals=TRANSLATORS),
    "marian-bf16": Group("marian", [
        Cell("Marian bf16, 8 sentences, greedy", "greedy", 3.00),
        Cell("Marian bf16, 8 sentences, 4 beams", "beams", 2.00),
        Cell("Marian bf16, 64 sentences of mixed length, greedy", "mixed", 2.50),
        Cell("Marian bf16, encoder and first token", "first"),
        Cell("Marian bf16, decoder, greedy", "greedy", less="first"),
    ], engine="transom-bf16", rivals=TRANSLATORS),
}


def judge(cell, group, times):
    """Returns a cell's row: our milliseconds, the best rival's, their ratio, the share of the limit, missed goals."""
    def time_of(engine, task):
        return times[engine][task] - (times[engine][cell.less] if cell.less else 0)
    ours = time_of(group.engine, cell.task)
    rivals = {f"{engine} {task}" if len(cell.rival_tasks()) > 1 else engine: time_of(engine, task)
              for engine in group.rivals if engine in times for task in cell.rival_tasks()}
    best = min(rivals, key=rivals.get) if rivals else None
    limit = times[group.engine].get("limit " + cell.task)
    if limit and cell.less:
        limit -= times[group.engine]["limit " + cell.less]
    line = dict(cell=cell.title, task=cell.task, ms=ours, rivals=rivals, best_rival=best, ratio=rivals[best] / ours if best else None,
                ratio_bar=cell.ratio, limit_share=limit / ours if limit else None, share_bar=cell.share, most_ms=cell.most_ms)
    missed = []
    if cell.ratio and (best is None or line["ratio"] < cell.ratio):
        missed.append("ratio")
    if cell.share and (limit is None or line["limit_share"] < cell.share):
        missed.append("share")
    if cell.most_ms and ours > cell.most_ms:
        missed.append("time")
    return dict(line, missed=missed)
