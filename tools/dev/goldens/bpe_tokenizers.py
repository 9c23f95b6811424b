# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Byte-pair tokenizers with the configurations of common decoders, trained on generated text with the PyPI package `tokenizers`, and strings
# to test them. Used by make-bpe-goldens.py and compare-tokenizers.py.
import json
import random

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
O200K = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
CL100K = (r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]"
          r"|\s+(?!\S)|\s")
SMALL_SCRIPTS = r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"

# --- Strings ---

SYLLABLES = "ka lo mi ter sion al pre con ing ed the an re st qu ou est er un ab le to is in at on".split()
SPACES = [" ", "  ", "   ", "\n", "\n\n", "\t", "\r\n", " \n", "    ", "\u00a0", "\u3000", "\u2028", "\u200b", "\x0b", " \t ", "\n   ", "\x85"]
CONTRACTIONS = "'s 't 're 've 'm 'll 'd 'S 'T 'RE 'Ve 'LL 'D '\u017f \u2019s 'x ' '' 'ser 'llama".split()
CODE = ["def f(x):\n    return x**2\n", "for (int i = 0; i < n; ++i) {\n\tsum += a[i];\n}\n", "if(a&&b||!c)", "x->y::z<T>();", "/* note */", "// done\n",
        "#include <stdio.h>\r\n", "{\"key\": [1, 2.5e-3, null]}", "https:" "//example.org/a/b?c=d&e=%20f", "SELECT * FROM t WHERE a='b';", "\\frac{1}{2}\\alpha_{i}", "a_b_cDE fooBar HTTPServer XMLHttp2"]
RANGES = [(0x21, 0x7E), (0xA0, 0x24F), (0x250, 0x2AF), (0x370, 0x3FF), (0x400, 0x4FF), (0x531, 0x58F), (0x5D0, 0x5EA), (0x620, 0x64A), (0x660, 0x669), (0x904, 0x939),
          (0x966, 0x96F), (0xE01, 0xE5B), (0x10A0, 0x10FF), (0x1100, 0x11FF), (0x1780, 0x17B3), (0x1E00, 0x1EFF), (0x1F00, 0x1FFF), (0x2000, 0x206F),
          (0x2070, 0x209C), (0x2150, 0x218B), (0x2190, 0x22FF), (0x2460, 0x24FF), (0x2C00, 0x2C5F), (0x3000, 0x303F), (0x3041, 0x30FF), (0x4E00, 0x9FFF),
          (0x4E00, 0x4E5F), (0xAC00, 0xD7A3), (0xF900, 0xFAFF), (0xFB00, 0xFB4F), (0xFF00, 0xFFEF), (0x10400, 0x1044F), (0x1D400, 0x1D7FF), (0x20000, 0x200FF), (0xE000, 0xE01F)]
MARKS = [(0x300, 0x36F), (0x591, 0x5C7), (0x64B, 0x65F), (0x93C, 0x94D), (0x1DC0, 0x1DFF), (0x20D0, 0x20F0), (0x3099, 0x309A), (0xFE00, 0xFE0F)]
EMOJI = [(0x1F300, 0x1F5FF), (0x1F600, 0x1F64F), (0x1F680, 0x1F6FF), (0x1F900, 0x1F9FF), (0x2600, 0x27BF), (0x1F1E6, 0x1F1FF)]


def character(rng, ranges):
    low, high = rng.choice(ranges)
    return chr(rng.randint(low, high))


def word(rng):
    text = "".join(rng.choice(SYLLABLES) for _ in range(rng.randint(1, 4)))
    return rng.choice([text, text, text, text, text.capitalize(), text.upper(), text[:2] + text[2:].capitalize()])


def emoji(rng):
    text = character(rng, EMOJI)
    text += rng.choice(["", "", "\U0001f3fd", "\ufe0f"])
    return text + (emoji(rng) if rng.random() < 0.15 else "\u200d" + character(rng, EMOJI) if rng.random() < 0.2 else "")


def any_character(rng):
    code = rng.randrange(0x110000 - 0x800)
    return chr(code + 0x800 if code >= 0xD800 else code)


def accented(rng):
    return "".join(c + ("".join(character(rng, MARKS) for _ in range(rng.randint(0, 2))) if rng.random() < 0.4 else "") for c in word(rng))


def element(rng, added):
    kind = rng.random()
    if kind < 0.30:
        return word(rng)
    if kind < 0.37:
        return word(rng) + rng.choice(CONTRACTIONS)
    if kind < 0.44:
        return "".join(rng.choice("0123456789") for _ in range(rng.randint(1, 9)))
    if kind < 0.49:
        return rng.choice(CODE)
    if kind < 0.56:
        return "".join(rng.choice(SPACES) for _ in range(rng.randint(1, 4)))
    if kind < 0.68:
        low, high = rng.choice(RANGES)
        return "".join(chr(rng.randint(low, high)) for _ in range(rng.randint(1, 7)))
    if kind < 0.74:
        return accented(rng)
    if kind < 0.79:
        return emoji(rng)
    if kind < 0.84:
        return "".join(rng.choice("!?.,;:-_()[]{}<>/\\|@#$%^&*+=~`\"'") for _ in range(rng.randint(1, 5)))
    if kind < 0.88:
        return any_character(rng)
    if kind < 0.92:
        return rng.choice(added) if added else word(rng)
    if kind < 0.95:
        return "".join(character(rng, MARKS) for _ in range(rng.randint(1, 3)))
    if kind < 0.97:
        return rng.choice("ab \n.'1\u00e9") * rng.randint(1, 40)
    return "".join(rng.choice(SYLLABLES) for _ in range(rng.randint(1, 12)))


def string(seed, added=()):
    rng = random.Random(seed)
    text = ""
    for _ in range(rng.randint(0, 12)):
        text += element(rng, added)
        if rng.random() < 0.55:
            text += " "
        elif rng.random() < 0.1:
            text += rng.choice(SPACES)
    return text


# --- Tokenizers ---


def train(tokenizer, size, **options):
    trainer = trainers.BpeTrainer(vocab_size=size, show_progress=False, **options)
    tokenizer.train_from_iterator((string("train %d" % i) for i in range(6000)), trainer)
    return tokenizer


def train_bytes(size, normalizer, pre_tokenizer, special=()):
    tokenizer = Tokenizer(models.BPE())
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizer
    train(tokenizer, size, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), special_tokens=list(special))
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def split(*patterns):
    parts = [pre_tokenizers.Split(Regex(p), "isolated") for p in patterns]
    return pre_tokenizers.Sequence(parts + [pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def gpt2(size):
    tokenizer = train_bytes(size, None, pre_tokenizers.ByteLevel(add_prefix_space=False), ["<|endoftext|>"])
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    return tokenizer


def roberta(size):
    tokenizer = train_bytes(size, None, pre_tokenizers.ByteLevel(add_prefix_space=True), ["<s>", "</s>", "<mask>"])
    tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True)])
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 1), ("<s>", 0))
    return tokenizer


def llama3(size):
    text = json.loads(train_bytes(size, None, split(LLAMA3)).to_str())
    text["model"]["ignore_merges"] = True
    for token in ["\u0120quouest", "llama"]:  # merges do not reach them
        text["model"]["vocab"].setdefault(token, len(text["model"]["vocab"]))
    tokenizer = Tokenizer.from_str(json.dumps(text))
    tokenizer.add_special_tokens(["<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>"])
    bos = tokenizer.token_to_id("<|begin_of_text|>")
    template = processors.TemplateProcessing("<|begin_of_text|> $A", "<|begin_of_text|> $A <|begin_of_text|>:1 $B:1", [("<|begin_of_text|>", bos)])
    tokenizer.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=True), template])
    return tokenizer


def qwen2(size):
    tokenizer = train_bytes(size, normalizers.NFC(), split(QWEN2))
    tokenizer.add_special_tokens(["<|endoftext|>", "<|im_start|>", "<|im_end|>"])
    tokenizer.add_tokens([AddedToken("<tool_call>", normalized=False), AddedToken("caf\u00e9", normalized=True)])
    tokenizer.post_processor = processors.ByteLevel(add_prefix_space=False, trim_offsets=False)
    return tokenizer


def o200k(size):
    return train_bytes(size, None, split(O200K), ["<|endoftext|>"])


def cl100k(size):
    return train_bytes(size, None, split(CL100K), ["<|endoftext|>"])


def scripts(size):
    return train_bytes(size, None, split(r"\p{N}{1,3}", "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+", SMALL_SCRIPTS))


def llama2(size):
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    tokenizer.pre_tokenizer = pre_tokenizers.Split("\u2581", "merged_with_next")
    codes = ["<0x%02X>" % b for b in range(256)]
    train(tokenizer, size, special_tokens=["<unk>", "<s>", "</s>"] + codes, limit_alphabet=300)
    text = json.loads(tokenizer.to_str())
    text["added_tokens"] = [t for t in text["added_tokens"] if t["content"] not in codes]
    text["pre_tokenizer"] = None
    tokenizer = Tokenizer.from_str(json.dumps(text))
    tokenizer.post_processor = processors.TemplateProcessing("<s> $A", "<s> $A <s>:1 $B:1", [("<s>", 1)])
    tokenizer.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    return tokenizer


def metaspace(size):
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=False))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Strip(), normalizers.Replace(Regex(" {2,}"), " "), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.Punctuation("merged_with_previous"), pre_tokenizers.Metaspace(prepend_scheme="first")])
    train(tokenizer, size, special_tokens=["<unk>", "<pad>"], limit_alphabet=400)
    tokenizer.add_tokens([AddedToken("NewTok", normalized=True), AddedToken("solo", single_word=True), AddedToken("<both>", lstrip=True, rstrip=True)])
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="first")
    return tokenizer


def word_end(size):
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>", fuse_unk=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.Digits()])
    train(tokenizer, size, special_tokens=["<unk>"], limit_alphabet=300, end_of_word_suffix="</w>")
    tokenizer.decoder = decoders.BPEDecoder(suffix="</w>")
    return tokenizer


def no_unknown(size):
    tokenizer = Tokenizer(models.BPE(continuing_subword_prefix="##"))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.CharDelimiterSplit(" "), pre_tokenizers.Split(Regex("[aeiou]+"), "contiguous", invert=True)])
    train(tokenizer, size, limit_alphabet=150, continuing_subword_prefix="##")
    tokenizer.decoder = decoders.WordPiece()
    return tokenizer


def bloom(size):
    return train_bytes(size, None, split(" ?[^(\\s|[.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c])]+"), ["<unk>", "<s>", "</s>"])


def falcon(size):
    parts = [pre_tokenizers.Punctuation("contiguous"), pre_tokenizers.ByteLevel(add_prefix_space=False), pre_tokenizers.Digits(individual_digits=False),
             pre_tokenizers.Split(Regex("[0-9][0-9][0-9]"), "isolated")]
    return train_bytes(size, None, pre_tokenizers.Sequence(parts), ["<|endoftext|>"])


def starcoder(size):
    parts = [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    return train_bytes(size, None, pre_tokenizers.Sequence(parts), ["<|endoftext|>", "<fim_prefix>"])


def gemma(size):
    tokenizer = llama2(size)
    tokenizer.normalizer = normalizers.Replace(" ", "\u2581")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    tokenizer.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()])
    return tokenizer


def mistral(size):
    tokenizer = llama2(size)
    text = json.loads(tokenizer.to_str())
    text["normalizer"] = None
    tokenizer = Tokenizer.from_str(json.dumps(text))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    return tokenizer


def script_words(size):
    """WordLevel, words in one script with limited length, conditions in patterns."""
    tokenizer = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Replace(Regex("(?<=[a-z])(?=[A-Z])"), " "), normalizers.Replace(Regex("(?<!\\w)'|'(?!\\w)"), '"'), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.UnicodeScripts(), pre_tokenizers.FixedLength(length=4)])
    trainer = trainers.WordLevelTrainer(vocab_size=size, show_progress=False, special_tokens=["[UNK]"])
    tokenizer.train_from_iterator((string("train %d" % i) for i in range(6000)), trainer)
    tokenizer.add_tokens([AddedToken("NewTok", normalized=True), AddedToken("<both>", lstrip=True, rstrip=True)])
    tokenizer.decoder = decoders.Sequence([decoders.Replace(Regex("(?<=[ae])n?\\b|^x"), "+"), decoders.Fuse()])
    return tokenizer


def bytes_first(size):
    """ByteLevel as the normalizer, and digit groups that a long lookahead finds."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.ByteLevel()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(r"\d{1,3}(?=(?:\d{3})*\b)"), "isolated"), pre_tokenizers.Split(Regex(r"(?<=[a-z]{2})(?=[A-Z\u0120])|\b(?:ka|lo)++"), "merged_with_next")])
    train(tokenizer, size, initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.add_tokens([AddedToken("caf\u00e9", normalized=True)])
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


TOKENIZERS = dict(bloom=bloom, falcon=falcon, starcoder=starcoder, gemma=gemma, mistral=mistral, gpt2=gpt2, llama3=llama3, qwen2=qwen2, llama2=llama2, metaspace=metaspace, roberta=roberta, o200k=o200k, cl100k=cl100k,
                  scripts=scripts, word_end=word_end, no_unknown=no_unknown, script_words=script_words, bytes_first=bytes_first)


def added_of(tokenizer):
    """Returns texts in which added tokens are searched."""
    contents = [token.content for token in tokenizer.get_added_tokens_decoder().values()]
    return contents + [c.upper() for c in contents] + [" %s " % c for c in contents] + [c[:-1] for c in contents] + ["xsolo", "newtok", "cafe\u0301"]


def make(name, size):
    """Returns the tokenizer file in compact form."""
    return json.dumps(json.loads(TOKENIZERS[name](size).to_str()), ensure_ascii=False, separators=(",", ":"))
