# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Tokenizer folders without tokenizer.json for the transformers classes that read them, trained on generated text with the PyPI packages
# `sentencepiece` and `tokenizers`. Used by make-folder-goldens.py and compare-folders.py.
import io
import json
import os
import shutil

import sentencepiece
import tokenizers
import transformers
from sentencepiece import sentencepiece_model_pb2

import bpe_tokenizers
import marian_tokenizers
import unigram_tokenizers

FIRST = dict(pad_id=0, eos_id=1, unk_id=2, bos_id=-1)  # T5 and Pegasus
NLLB = ["ace_Arab", "deu_Latn", "eng_Latn", "fra_Latn", "zho_Hans"]
M2M100 = "af am ar ast az ba be bg bn br bs ca ceb cs cy da de el en es et".split()


def train(size, kind="unigram", rule=None, characters=180, **options):
    """Returns a model file; without a normalization rule it has the small character map."""
    texts = [t for t in unigram_tokenizers.training_text(characters) if t.strip()]
    written = io.BytesIO()
    if rule:
        options["normalization_rule_name"] = rule
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(texts), model_writer=written, vocab_size=size, hard_vocab_limit=False, character_coverage=1.0,
                                             minloglevel=2, num_threads=1, model_type=kind, **options)
    model = sentencepiece_model_pb2.ModelProto.FromString(written.getvalue())
    if not rule:
        model.normalizer_spec.precompiled_charsmap = unigram_tokenizers.charsmap()
    return model


def token(content, **flags):
    return dict({"content": content, "lstrip": False, "rstrip": False, "single_word": False, "normalized": False, "special": True}, **flags)


def added(content, **flags):
    return dict(token(content, **flags), __type="AddedToken")


class Folder:
    """The recipe for a folder: its class, its model file and its settings."""

    def __init__(self, name, file, model, config=(), special=None, tokens=None, vocabulary=None):
        self.name, self.file, self.model, self.config = name, file, model, dict(config)
        self.special, self.tokens, self.vocabulary = special, tokens, vocabulary

    def write(self, folder, size):
        os.makedirs(folder, exist_ok=True)
        model = self.model(size)
        files = {"tokenizer_config.json": dict(self.config, tokenizer_class=self.name), "special_tokens_map.json": self.special,
                 "added_tokens.json": self.tokens and self.tokens(model), "vocab.json": self.vocabulary and self.vocabulary(model)}
        with open(os.path.join(folder, self.file), "wb") as out:
            out.write(model.SerializeToString())
        for name, content in files.items():
            if content is not None:
                with open(os.path.join(folder, name), "w") as out:
                    json.dump(content, out, ensure_ascii=False, separators=(",", ":"))

    def load(self, folder):
        return getattr(transformers, self.name).from_pretrained(folder)


def m2m100_vocabulary(model):
    pieces = [p.piece for i, p in enumerate(model.pieces) if p.type == 1 and i % 23 != 7]
    tokens = ["<s>", "<pad>", "</s>", "<unk>", *pieces, "\u4e2d\u6587", "madeupword0000"]
    return {t: i for i, t in enumerate(tokens)}


XLMR = "sentencepiece.bpe.model"
LLAMA = dict(kind="bpe", byte_fallback=True)
FOLDERS = {
    "t5": Folder("T5Tokenizer", "spiece.model", lambda size: train(size, **FIRST), {"extra_ids": 12}),
    "t5_settings": Folder("T5Tokenizer", "spiece.model", lambda size: train(size, user_defined_symbols=["<n>"], **FIRST),
                          {"extra_ids": 3, "legacy": False, "additional_special_tokens": ["<extra_id_0>", "<extra_id_1>", "<extra_id_2>", "<new>"]}),
    "xlm_roberta": Folder("XLMRobertaTokenizer", XLMR, lambda size: train(size)),
    "xlm_roberta_settings": Folder("XLMRobertaTokenizer", XLMR, lambda size: train(size), {"add_prefix_space": False, "mask_token": added("<mask>", lstrip=True)}, tokens=lambda m: {"plus": len(m.pieces) + 2}),
    "mbart": Folder("MBartTokenizer", XLMR, lambda size: train(size), {"src_lang": "fr_XX"}),
    "mbart50": Folder("MBart50Tokenizer", XLMR, lambda size: train(size), {"additional_special_tokens": ["<x>"]}),
    "nllb": Folder("NllbTokenizer", XLMR, lambda size: train(size, "bpe"), {"src_lang": "fra_Latn", "additional_special_tokens": NLLB}),
    "nllb_legacy": Folder("NllbTokenizer", XLMR, lambda size: train(size, "bpe"), {"legacy_behaviour": True, "extra_special_tokens": [*NLLB, "<plus>"]}),
    "nllb_plain": Folder("NllbTokenizer", XLMR, lambda size: train(size, "bpe")),
    "pegasus": Folder("PegasusTokenizer", "spiece.model", lambda size: train(size, **FIRST), {"mask_token": "<mask_2>", "mask_token_sent": "<mask_1>", "offset": 12}),
    "llama": Folder("LlamaTokenizer", "tokenizer.model", lambda size: train(size + 256, **LLAMA), {"add_bos_token": True}),
    "llama_legacy": Folder("LlamaTokenizer", "tokenizer.model", lambda size: train(size + 256, user_defined_symbols=["[INST]"], **LLAMA),
                           {"legacy": True, "add_bos_token": True, "add_eos_token": True},
                           special={"bos_token": token("<s>", normalized=True), "pad_token": "<pad>", "unk_token": "<unk>"},
                           tokens=lambda m: {"<pad>": len(m.pieces), "plus": len(m.pieces) + 1}),
    "llama_decoder": Folder("LlamaTokenizer", "tokenizer.model", lambda size: train(size + 256, **LLAMA),
                            {"legacy": False, "add_prefix_space": False, "pad_token": None,
                             "added_tokens_decoder": {"0": token("<unk>"), "1": token("<s>"), "2": token("</s>", rstrip=True), "9": token("<0x06>", special=False),
                                                      "4000": token("<|user|>"), "4001": token("any", special=False, single_word=True, normalized=True)}}),
    "m2m100": Folder("M2M100Tokenizer", XLMR, lambda size: train(size), vocabulary=m2m100_vocabulary),
    "m2m100_settings": Folder("M2M100Tokenizer", XLMR, lambda size: train(size), {"src_lang": "de"}, special={"additional_special_tokens": ["__%s__" % c for c in M2M100]}, vocabulary=m2m100_vocabulary),
    "m2m100_bpe": Folder("M2M100Tokenizer", XLMR, lambda size: train(size, "bpe"), {"src_lang": "fr"}, vocabulary=m2m100_vocabulary),
}


class Marian:
    """A Marian folder, with one vocabulary or two."""

    def __init__(self, separate):
        self.separate = separate

    def write(self, folder, size):
        marian_tokenizers.make(folder, size, rule=None)
        if not self.separate:
            return
        with open(os.path.join(folder, "tokenizer_config.json"), "w") as file:
            json.dump({"tokenizer_class": "MarianTokenizer", "separate_vocabs": True}, file)
        model = sentencepiece_model_pb2.ModelProto()
        with open(os.path.join(folder, "target.spm"), "rb") as file:
            model.ParseFromString(file.read())
        tokens = ["</s>", "<unk>", *(p.piece for p in model.pieces if p.type == 1), "<pad>"]
        with open(os.path.join(folder, "target_vocab.json"), "w") as file:
            json.dump({t: i for i, t in enumerate(tokens)}, file, ensure_ascii=False, separators=(",", ":"))

    def load(self, folder):
        tokenizer = transformers.MarianTokenizer.from_pretrained(folder)
        tokenizer.punc_normalizer = lambda text: text
        return tokenizer


class Merges:
    """A folder with vocab.json and merges.txt: a byte-level BPE model whose special tokens have the first ids or the last."""

    def __init__(self, name, config=(), first=(), last=(), special=None, added=None):
        self.name, self.config, self.first, self.last, self.special, self.added = name, dict(config), first, last, special, added

    def write(self, folder, size):
        os.makedirs(folder, exist_ok=True)
        model = tokenizers.ByteLevelBPETokenizer()
        model.train_from_iterator((t for t in unigram_tokenizers.training_text(180) if t.strip()), vocab_size=size + 256,
                                  special_tokens=list(self.first), show_progress=False)
        model.save_model(folder)
        files = {"tokenizer_config.json": dict(self.config, tokenizer_class=self.name), "special_tokens_map.json": self.special, "added_tokens.json": self.added}
        path = os.path.join(folder, "vocab.json")
        with open(path) as file:
            vocabulary = json.load(file)
        for each in self.last:
            vocabulary[each] = len(vocabulary)
        for name, content in dict(files, **{"vocab.json": vocabulary}).items():
            if content is not None:
                with open(os.path.join(folder, name), "w") as out:
                    json.dump(content, out, ensure_ascii=False, separators=(",", ":"))

    def load(self, folder):
        return getattr(transformers, self.name).from_pretrained(folder)


FAIRSEQ = ["<s>", "<pad>", "</s>", "<unk>"]
END = ["<|endoftext|>"]
FOLDERS.update({
    "bart": Merges("BartTokenizer", first=FAIRSEQ, last=["<mask>"]),
    "bart_settings": Merges("BartTokenizer", {"add_prefix_space": True, "trim_offsets": False, "mask_token": added("<mask>", lstrip=True)}, FAIRSEQ, ["<mask>"],
                            special={"cls_token": "<s>", "sep_token": token("</s>", normalized=True), "additional_special_tokens": ["<x>"]}),
    "roberta": Merges("RobertaTokenizer", {"add_prefix_space": True}, FAIRSEQ, ["<mask>"], added={"<plus>": 301}),
    "roberta_plain": Merges("RobertaTokenizer"),
    "blenderbot": Merges("BlenderbotTokenizer", first=FAIRSEQ, last=["<mask>"]),
    "blenderbot_end": Merges("BlenderbotTokenizer", {"add_prefix_space": False, "add_eos_token": True}, FAIRSEQ, ["<mask>"]),
    "gpt2": Merges("GPT2Tokenizer", last=END),
    "gpt2_opt": Merges("GPT2Tokenizer", {"add_bos_token": True, "bos_token": added("</s>", normalized=True), "eos_token": added("</s>", normalized=True),
                                         "unk_token": added("</s>", normalized=True), "pad_token": "<pad>"}, FAIRSEQ),
    "qwen2": Merges("Qwen2Tokenizer", {"added_tokens_decoder": {"456": token("<|endoftext|>"), "457": token("<|im_start|>"), "458": token("<|im_end|>")},
                                       "eos_token": "<|im_end|>", "additional_special_tokens": ["<|im_start|>", "<|im_end|>"]}),
})


class WordPieces:
    """A folder with vocab.txt. AutoTokenizer finds its class by the settings, or without them by the model type."""

    pairs = True

    def __init__(self, type, config=None, tokens=(), special=None, added=None, changes=lambda lines: lines, **options):
        self.type, self.config, self.tokens, self.special, self.added, self.changes, self.options = type, config, tokens, special, added, changes, options

    def write(self, folder, size):
        os.makedirs(folder, exist_ok=True)
        model = tokenizers.BertWordPieceTokenizer(**self.options)
        model.train_from_iterator((t for t in unigram_tokenizers.training_text(180) if t.strip()), vocab_size=size + 300, limit_alphabet=200,
                                  special_tokens=list(self.tokens), show_progress=False)
        lines = sorted(model.get_vocab(), key=model.get_vocab().get)
        with open(os.path.join(folder, "vocab.txt"), "w", newline="") as out:
            out.write("".join(line + "\n" for line in self.changes(lines)))
        files = {"config.json": {"model_type": self.type}, "tokenizer_config.json": self.config, "special_tokens_map.json": self.special, "added_tokens.json": self.added}
        write_json(folder, files)

    def load(self, folder):
        return transformers.AutoTokenizer.from_pretrained(folder)


def write_json(folder, files):
    for name, content in files.items():
        if content is not None:
            with open(os.path.join(folder, name), "w") as out:
                json.dump(content, out, ensure_ascii=False, separators=(",", ":"))


BERT = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
MPNET = ["<s>", "<pad>", "</s>", "[UNK]"]
CASED = dict(lowercase=False, strip_accents=False)
FOLDERS.update({
    "bert": WordPieces("bert", {"tokenizer_class": "BertTokenizer"}, BERT),
    "bert_type": WordPieces("nomic_bert", {}, BERT),
    "bert_cased": WordPieces("bert", {"tokenizer_class": "BertTokenizerFast", "do_lower_case": False, "tokenize_chinese_chars": False,
                                      "additional_special_tokens": ["[E1]", "[E2]"], "cls_token": "[SEP]"}, BERT, added={"[E1]": 700, "plus": 701}, **CASED),
    "bert_accents": WordPieces("bert", {"tokenizer_class": "BertTokenizer", "do_lower_case": True, "strip_accents": False, "pad_token": "[UNK]",
                                        "mask_token": added("[MASK]", lstrip=True)}, BERT, strip_accents=False,
                               changes=lambda lines: [line + " \r" if i % 7 == 3 else line for i, line in enumerate([*lines, lines[9], "", lines[20]])]),
    "distilbert": WordPieces("distilbert", {"tokenizer_class": "DistilBertTokenizer", "do_lower_case": False, "strip_accents": True,
                                            "added_tokens_decoder": {"0": token("[PAD]"), "1": token("[UNK]", normalized=True, lstrip=True), "480": token("Ka", special=False, single_word=True, normalized=True),
                                                                     "481": token("lo ", special=False, rstrip=True)}}, BERT, **CASED),
    "electra": WordPieces("electra", {"tokenizer_class": "ElectraTokenizer", "strip_accents": None}, BERT, special={"sep_token": "[MASK]", "additional_special_tokens": ["<n>"]}),
    "mpnet": WordPieces("mpnet", {"tokenizer_class": "MPNetTokenizer"}, MPNET, changes=lambda lines: [*lines, "<mask>"]),
    "mpnet_settings": WordPieces("mpnet", {"do_lower_case": False, "cls_token": "[UNK]", "unk_token": added("</s>"), "mask_token": "<n>"}, MPNET, changes=lambda lines: [*lines, "<mask>"], **CASED),
})


class Pieces(Folder):
    """A folder with a SentencePiece model, whose class AutoTokenizer finds."""

    pairs = True

    def __init__(self, type, name, file, model, config=(), special=None, tokens=None):
        super().__init__(name, file, model, config, special, tokens)
        self.type = type

    def write(self, folder, size):
        super().write(folder, size)
        write_json(folder, {"config.json": {"model_type": self.type}})

    def load(self, folder):
        return transformers.AutoTokenizer.from_pretrained(folder)


def albert_pieces(size, **options):
    return train(size, pad_id=0, unk_id=1, bos_id=-1, eos_id=-1, control_symbols=["[CLS]", "[SEP]"], user_defined_symbols=["[MASK]"], **options)


def deberta_pieces(size, **options):
    return train(size, pad_id=0, bos_id=1, eos_id=2, unk_id=3, pad_piece="[PAD]", bos_piece="[CLS]", eos_piece="[SEP]", unk_piece="[UNK]", **options)


class TypedMerges(Merges):
    """A folder with vocab.json and merges.txt, whose class AutoTokenizer finds."""

    pairs = True

    def write(self, folder, size):
        super().write(folder, size)
        write_json(folder, {"config.json": {"model_type": "deberta"}})

    def load(self, folder):
        return transformers.AutoTokenizer.from_pretrained(folder)


FOLDERS.update({
    "albert": Pieces("albert", "AlbertTokenizer", "spiece.model", albert_pieces),
    "albert_settings": Pieces("albert", "AlbertTokenizer", "spiece.model", albert_pieces,
                              {"do_lower_case": False, "keep_accents": True, "add_prefix_space": False, "mask_token": added("[MASK]", lstrip=True), "sep_token": "[MASK]"},
                              tokens=lambda m: {"plus": len(m.pieces)}),
    "camembert": Pieces("camembert", "CamembertTokenizer", XLMR, lambda size: train(size, unk_id=0, bos_id=1, eos_id=2)),
    "camembert_settings": Pieces("camembert", "CamembertTokenizer", XLMR, lambda size: train(size, unk_id=0, bos_id=1, eos_id=2),
                                 {"add_prefix_space": False, "additional_special_tokens": ["<s>NOTUSED", "</s>NOTUSED"], "eos_token": "<pad>"}),
    "deberta": TypedMerges("DebertaTokenizer", first=["[CLS]", "[PAD]", "[SEP]", "[UNK]"], last=["[MASK]"]),
    "deberta_settings": TypedMerges("DebertaTokenizer", {"add_prefix_space": True, "cls_token": "[MASK]"}, ["[CLS]", "[PAD]", "[SEP]", "[UNK]"],
                                    special={"mask_token": "<mask>", "additional_special_tokens": ["<x>"]}),
    "deberta_v2": Pieces("deberta-v2", "DebertaV2Tokenizer", "spm.model", deberta_pieces, tokens=lambda m: {"[MASK]": len(m.pieces)}),
    "deberta_v2_settings": Pieces("deberta-v2", "DebertaV2Tokenizer", "spm.model", deberta_pieces,
                                  {"do_lower_case": True, "split_by_punct": True, "add_prefix_space": False, "unk_token": "[PAD]"}),
})


class Serialized(WordPieces):
    """A folder with tokenizer.json, whose normalizer and template differ from the settings."""

    def write(self, folder, size):
        super().write(folder, size)
        path = os.path.join(folder, "vocab.txt")
        with open(path) as file:
            vocabulary = {t: i for i, t in enumerate(file.read().splitlines())}
        os.remove(path)
        model = tokenizers.BertWordPieceTokenizer(vocabulary, lowercase=True, handle_chinese_chars=True)
        model.add_special_tokens([tokenizers.AddedToken("[MASK]", lstrip=True, normalized=False, special=True)])
        model.add_tokens([tokenizers.AddedToken("<n>", single_word=True, normalized=False)])
        model.save(os.path.join(folder, "tokenizer.json"))


FOLDERS.update({
    "serialized_bert": Serialized("bert", {"tokenizer_class": "BertTokenizer", "do_lower_case": False, "tokenize_chinese_chars": False, "truncation_side": "right",
                                           "cls_token": "[MASK]", "sep_token": "<end>"}, BERT, **CASED),
    "serialized_type": Serialized("distilbert", {"do_lower_case": False, "strip_accents": True}, BERT, **CASED),
    "serialized_tokens": Serialized("electra", {"tokenizer_class": "ElectraTokenizer", "do_lower_case": False, "truncation_side": "left",
                                                "added_tokens_decoder": {"0": token("[PAD]"), "9": token("lo", special=False, normalized=True)}}, BERT, **CASED),
    "serialized_general": Serialized("bert", {"tokenizer_class": "PreTrainedTokenizerFast", "do_lower_case": False, "unk_token": "[UNK]", "truncation_side": "right"}, BERT, **CASED),
})


class Saved:
    """A folder as save_pretrained writes it from another one, with other settings and optionally a changed tokenizer.json."""

    pairs = True

    def __init__(self, base, type, config=(), drop=(), changes=None):
        self.base, self.type, self.config, self.drop, self.changes = base, type, dict(config), drop, changes

    def write(self, folder, size):
        source = folder + "-source"
        FOLDERS[self.base].write(source, size)
        FOLDERS[self.base].load(source).save_pretrained(folder)
        shutil.rmtree(source)
        for name in os.listdir(folder):
            if name not in ("tokenizer.json", "tokenizer_config.json"):
                os.remove(os.path.join(folder, name))
        settings = read_json(folder, "tokenizer_config.json")
        write_json(folder, {"config.json": {"model_type": self.type}, "tokenizer_config.json": dict({k: v for k, v in settings.items() if k not in self.drop}, **self.config)})
        model = read_json(folder, "tokenizer.json")
        if self.changes:
            self.changes(model)
        write_json(folder, {"tokenizer.json": model})

    def load(self, folder):
        return transformers.AutoTokenizer.from_pretrained(folder)


def read_json(folder, name):
    with open(os.path.join(folder, name)) as file:
        return json.load(file)


def foreign(model):
    """Steps and a template that the class must replace, and model options that it must omit."""
    maps = [n for n in (model["normalizer"] or {}).get("normalizers", [model["normalizer"]]) if n and n["type"] == "Precompiled"]
    model["normalizer"] = {"type": "Sequence", "normalizers": [{"type": "Replace", "pattern": {"String": "a"}, "content": "o"}, *maps]}
    model["pre_tokenizer"] = {"type": "Whitespace"}
    model["decoder"] = {"type": "Fuse"}
    ids = [(t["content"], t["id"]) for t in model["added_tokens"][:2]]
    around = lambda *texts: [{"SpecialToken": {"id": ids[-1][0], "type_id": 0}}, *({"Sequence": {"id": t, "type_id": i}} for i, t in enumerate(texts))]
    model["post_processor"] = {"type": "TemplateProcessing", "single": around("A"), "pair": around("A", "B"),
                               "special_tokens": {c: {"id": c, "ids": [i], "tokens": [c]} for c, i in ids}}
    if model["model"]["type"] == "BPE":
        model["model"].update(ignore_merges=True, fuse_unk=True)
    model["truncation"] = {"direction": "Left", "max_length": 6, "strategy": "OnlyFirst", "stride": 0}


def without_template(model):
    model["post_processor"] = None


TYPES = {"albert": "albert", "bart": "bart", "blenderbot": "blenderbot", "camembert": "camembert", "deberta": "deberta", "deberta_v2": "deberta-v2", "gpt2": "gpt2", "llama": "llama",
         "mbart": "mbart", "mbart50": "mbart", "nllb": "m2m_100", "pegasus": "pegasus", "qwen2": "qwen2", "roberta": "roberta", "t5": "t5", "xlm_roberta": "xlm-roberta"}
for base, kind in TYPES.items():
    FOLDERS["saved_" + base] = Saved(base, kind)
    FOLDERS["saved_%s_foreign" % base] = Saved(base, kind, changes=foreign)
PREFIX = dict(add_prefix_space=True)
FOLDERS.update({
    "saved_albert_settings": Saved("albert", "albert", {"do_lower_case": False, "keep_accents": True, "add_prefix_space": False}, changes=without_template),
    "saved_albert_defaults": Saved("albert_settings", "albert", drop=("do_lower_case", "keep_accents", "add_prefix_space")),
    "saved_bart_settings": Saved("bart", "bart", dict(PREFIX, trim_offsets=False, split_special_tokens=True)),
    "saved_blenderbot_settings": Saved("blenderbot", "blenderbot", {"add_prefix_space": False, "add_bos_token": True}, changes=without_template),
    "saved_camembert_settings": Saved("camembert", "camembert", {"add_prefix_space": False, "eos_token": "<pad>"}, drop=("extra_special_tokens",)),
    "saved_deberta_settings": Saved("deberta", "deberta", dict(PREFIX, cls_token="[MASK]")),
    "saved_deberta_v2_settings": Saved("deberta_v2", "deberta-v2", {"do_lower_case": True, "split_by_punct": True, "add_prefix_space": False, "unk_id": 5, "unk_token": "<n>"}),
    "saved_gpt2_settings": Saved("gpt2", "starcoder2", dict(PREFIX, add_bos_token=True, pad_token="<pad>")),
    "saved_llama_settings": Saved("llama", "llama", {"legacy": True, "add_prefix_space": False, "add_eos_token": True, "extra_special_tokens": ["<x>"]}),
    "saved_llama_legacy": Saved("llama", "llama", {"legacy": True, "add_prefix_space": None}),
    "saved_mbart_settings": Saved("mbart", "mbart", {"src_lang": "de_DE", "extra_special_tokens": ["<x>"]}),
    "saved_mbart50_settings": Saved("mbart50", "mbart", {"src_lang": "de_DE"}),
    "saved_nllb_settings": Saved("nllb", "m2m_100", {"src_lang": "deu_Latn", "legacy_behaviour": True}),
    "saved_pegasus_settings": Saved("pegasus", "pegasus", {"eos_token": "<unk_3>"}),
    "saved_qwen2_settings": Saved("qwen2", "qwen2", PREFIX),
    "saved_roberta_settings": Saved("roberta", "roberta", {"trim_offsets": False, "add_prefix_space": False, "mask_token": "<m>"}),
    "saved_roberta_defaults": Saved("bart_settings", "roberta", drop=("add_prefix_space", "trim_offsets", "tokenizer_class")),
    "saved_t5_settings": Saved("t5", "mt5", {"extra_ids": 2}, drop=("extra_special_tokens",)),
    "saved_xlm_roberta_settings": Saved("xlm_roberta", "gte", {"add_prefix_space": False, "bos_token": "<unk>",
                                                               "added_tokens_decoder": {"3": token("<unk>"), "7": token("ka", special=False, lstrip=True)}}, drop=("tokenizer_class",)),
    "saved_gemma": Saved("llama", "gemma3_text", {"tokenizer_class": "GemmaTokenizer", "bos_token": "<s>", "eos_token": "</s>", "pad_token": "<unk>", "mask_token": "<mask>"}),
    "saved_neox": Saved("gpt2", "gpt_neox", {"tokenizer_class": "GPTNeoXTokenizer", "add_prefix_space": True, "add_bos_token": True}, changes=foreign),
    "saved_cohere": Saved("gpt2", "cohere", {"tokenizer_class": "CohereTokenizer", "bos_token": "<|endoftext|>"}),
    "saved_general": Saved("roberta", "roberta", {"tokenizer_class": "PreTrainedTokenizerFast", "add_prefix_space": False, "pad_token": "<p>", "eos_token": "lo", "split_special_tokens": False,
                                                  "extra_special_tokens": ["<x>"]}),
    "saved_general_decoder": Saved("roberta", "modernbert", {"added_tokens_decoder": {"0": token("<s>", lstrip=True), "900": token("plus", special=False, normalized=True)}}),
    "saved_general_split": Saved("xlm_roberta", "xlm-roberta-xl", {"split_special_tokens": True, "truncation_side": "left"}, changes=foreign),
})
WORDS = ["a", "cat", "is", "do", "not", "n't", "it", "'", "s", "m", "ve", "re", "t", "n", ".", ",", "?", "!", "we"]


class English:
    """A folder with tokenizer.json, words and punctuation, whose settings clean up spaces before punctuation."""

    texts = ["a cat .", "it 's a cat , is n't it ?", "it ' s not !", "we 've a cat , we 're not !", "' a '", "do not , do n't", "a 'm . . .", "is ' ' n't", "?! .,", "a<s> . [SEP] !",
             *(" ".join(bpe_tokenizers.random.Random(i).choices(WORDS, k=8)) for i in range(30))]

    def __init__(self, type, config=()):
        self.type, self.config = type, dict({"clean_up_tokenization_spaces": True}, **dict(config))

    def make(self):
        if self.type == "bert":
            tokens = [*BERT, *WORDS, *("##" + w for w in WORDS)]
            return tokenizers.BertWordPieceTokenizer({t: i for i, t in enumerate(tokens)})._tokenizer
        pieces = [*FAIRSEQ, *("\u2581" + w for w in WORDS), *(w for w in WORDS), "\u2581"]
        if self.type == "xlm-roberta":
            model = tokenizers.models.Unigram([(p, -float(i)) for i, p in enumerate(pieces)], unk_id=3)
        else:
            letters = sorted({c for p in pieces for c in p} - {"<", ">"} | {"<", ">"})
            vocabulary = {t: i for i, t in enumerate([*FAIRSEQ, *letters])}
            merges = []
            for word in ("\u2581" + w for w in WORDS if len(w) < 3):
                for i in range(1, len(word)):
                    if word[:i + 1] not in vocabulary:
                        vocabulary[word[:i + 1]] = len(vocabulary)
                        merges.append((word[:i], word[i]))
            model = tokenizers.models.BPE(vocabulary, merges, unk_token="<unk>")
        result = tokenizers.Tokenizer(model)
        result.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
        result.decoder = tokenizers.decoders.Metaspace()
        result.add_special_tokens(FAIRSEQ)
        return result

    def write(self, folder, size):
        os.makedirs(folder, exist_ok=True)
        self.make().save(os.path.join(folder, "tokenizer.json"))
        write_json(folder, {"config.json": {"model_type": self.type}, "tokenizer_config.json": self.config})

    def load(self, folder):
        return transformers.AutoTokenizer.from_pretrained(folder)


FOR_BPE = "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output"
FOLDERS.update({
    "english_wordpiece": English("bert", {"tokenizer_class": "BertTokenizer"}),
    "english_unigram": English("xlm-roberta", {"tokenizer_class": "XLMRobertaTokenizer"}),
    "english_bpe": English("llama", {"tokenizer_class": "PreTrainedTokenizerFast", "unk_token": "<unk>"}),
    "english_bpe_forced": English("llama", {"tokenizer_class": "PreTrainedTokenizerFast", "unk_token": "<unk>", FOR_BPE: True}),
})
FOLDERS["marian"] = Marian(False)
FOLDERS["marian_two"] = Marian(True)

OTHERS = ["</s>", "<unk>", "<pad>", "<s>", "<mask>", "\u2581", " \u2581 ", "\u4e2d\u6587", "\u00e6\u00e6", "en_XX", "eng_Latn", "__de__", "<0x0A>", ">>", "<<"]


def string(seed, tokenizer):
    known = [str(t) for t in tokenizer.added_tokens_decoder.values()]
    text = bpe_tokenizers.string(seed, known[:40] + OTHERS)
    head = bpe_tokenizers.random.Random(seed + " head")
    return head.choice(marian_tokenizers.CODES + [">>yy<< "]) + head.choice(["", " "]) + text if head.random() < 0.1 else text
