#!/usr/bin/env python3
# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Makes test/goldens/tokenizer with the PyPI package `tokenizers`: ids and offsets for a generated corpus under several tokenizers. The
# corpus is not stored; test/runtime/tokenizer/Corpus.cpp generates the same strings.
#
#   pip install tokenizers==0.23.3
#   tools/dev/goldens/make-tokenizer-goldens.py [FOLDER]       all but the vocabulary, which is kept
#   tools/dev/goldens/make-tokenizer-goldens.py --train        trains the vocabulary anew, too
#   tools/dev/goldens/make-tokenizer-goldens.py --compare tokenizer.json OUT   strings and results for a check by hand
#
# tokenizer.json   a WordPiece tokenizer with a small vocabulary and added tokens
# corpus.json      size and hash of the corpus; per variant the text to replace in
#                  tokenizer.json and the hashes of all ids and all offsets
# hashes.bin       per variant and string one byte: the first of the SHA-256 of ids and offsets
# cases.json       cases in full: text, ids, type ids, byte offsets, decoded text
import hashlib
import itertools
import json
import os
import struct
import sys

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

RANDOM_STRINGS = 102400
BLOCK = 1024
BLOCKS = 0x110000 // BLOCK
CORPUS_SIZE = RANDOM_STRINGS + 2 * BLOCKS
MASK = (1 << 64) - 1

# --- The corpus: keep in step with test/runtime/tokenizer/Corpus.cpp ---

ONSETS = ["", "b", "c", "d", "f", "g", "h", "k", "l", "m", "n", "p", "r", "s", "t", "v", "w", "st", "tr", "qu", "sh"]
VOWELS = ["a", "e", "i", "o", "u", "y", "ea", "ou"]
CODAS = ["", "", "", "n", "r", "s", "t", "ng", "ck", "ll", "x", "z"]
SCRIPTS = [
    (0x41, 0x5A), (0x61, 0x7A), (0xC0, 0xFF), (0x100, 0x17F), (0x180, 0x24F), (0x250, 0x2AF), (0x370, 0x3FF),
    (0x400, 0x4FF), (0x531, 0x587), (0x5D0, 0x5EA), (0x620, 0x64A), (0x904, 0x939), (0x985, 0x9B9), (0xE01, 0xE5B),
    (0x10A0, 0x10FF), (0x1100, 0x11FF), (0x13A0, 0x13FD), (0x1780, 0x17B3), (0x1E00, 0x1EFF), (0x1F00, 0x1FFF),
    (0x2C00, 0x2C5F), (0x3041, 0x30FF), (0x3105, 0x312F), (0x3400, 0x34FF), (0x4E00, 0x9FFF), (0x4E00, 0x4EFF),
    (0xA640, 0xA69F), (0xAC00, 0xD7A3), (0xF900, 0xFAFF), (0xFB00, 0xFB4F), (0xFF00, 0xFFEF), (0x10400, 0x1044F),
    (0x11100, 0x1114F), (0x1D100, 0x1D1FF), (0x1D400, 0x1D7FF), (0x1E900, 0x1E95F), (0x20000, 0x200FF),
    (0x2B820, 0x2B9FF), (0x2F800, 0x2FA1F), (0x300, 0x36F), (0x900, 0x963), (0x1AB0, 0x1AFF), (0x11930, 0x11946)]
MARKS = [(0x300, 0x36F), (0x300, 0x36F), (0x483, 0x489), (0x591, 0x5C7), (0x610, 0x61A), (0x64B, 0x65F), (0x6D6, 0x6ED),
         (0x93C, 0x94D), (0xE31, 0xE3A), (0xF71, 0xF84), (0x1DC0, 0x1DFF), (0x20D0, 0x20F0), (0x302A, 0x302F), (0x3099, 0x309A),
         (0xFE00, 0xFE0F), (0xFE20, 0xFE2F), (0x1D165, 0x1D172), (0x898, 0x8E1)]
SPACES = [0x20, 0x20, 0x20, 0x20, 0x9, 0xA, 0xD, 0xB, 0xC, 0x85, 0xA0, 0x1680, 0x2003, 0x2009, 0x2028, 0x202F, 0x3000, 0x200B]
CONTROLS = [(0x0, 0x1F), (0x7F, 0x9F), (0xAD, 0xAD), (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0xFFF9, 0xFFFD),
            (0xFEFF, 0xFEFF), (0xE000, 0xE0FF), (0xE0001, 0xE007F), (0x600, 0x605), (0x378, 0x379), (0xFDD0, 0xFDEF), (0xF0000, 0xF00FF)]
PUNCTUATION = [(0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E), (0xA1, 0xBF), (0x2010, 0x2027), (0x2030, 0x205E),
               (0x3000, 0x303F), (0xFE30, 0xFE6B), (0xFF01, 0xFF20), (0x20A0, 0x20BF), (0x2190, 0x22FF), (0x2E2E, 0x2E5D), (0x55A, 0x58A)]
EMOJI = [(0x1F300, 0x1F5FF), (0x1F600, 0x1F64F), (0x1F680, 0x1F6FF), (0x1F900, 0x1F9FF), (0x2600, 0x27BF), (0x1F1E6, 0x1F1FF)]
ADDED = ["[CLS]", "[SEP]", "[MASK]", "[UNK]", "[PAD]", "[MAS", "[mask]", "[ MASK ]", "MASK]", "[CLS][SEP]", "NewTok", "newtok",
         "NEWTOK", "new", "Tok", "solo", "Solo", "solos", "_solo", "<left>", "<right>", "<both>", "<BOTH>", "caf\u00e9+", "cafe+",
         "CAFE\u0301+", "<a", "<a>", "<a>b", "<a>bc", "##ing", "##", "\u4e2d\u6587", "two words"]


class Random:
    """SplitMix64."""

    def __init__(self, seed):
        self.state = seed & MASK

    def below(self, limit):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return (((z ^ (z >> 31)) >> 32) * limit) >> 32

    def pick(self, values):
        return values[self.below(len(values))]

    def char(self, ranges):
        low, high = self.pick(ranges)
        return chr(low + self.below(high - low + 1))


def word(random):
    text = ""
    for _ in range(1 + random.below(4)):
        text += random.pick(ONSETS)
        text += random.pick(VOWELS)
        text += random.pick(CODAS)
    case = random.below(16)
    return text.capitalize() if case < 2 else text.upper() if case == 2 else text


def accented(random):
    text = ""
    for c in word(random):
        text += c
        for _ in range(random.below(3) if random.below(3) == 0 else 0):
            text += random.char(MARKS)
    return text


def scripts(random):
    low, high = random.pick(SCRIPTS)
    return "".join(chr(low + random.below(high - low + 1)) for _ in range(1 + random.below(8)))


def emoji(random):
    text = random.char(EMOJI)
    if random.below(4) == 0:
        text += chr(0x1F3FB + random.below(5))
    if random.below(4) == 0:
        text += "\u200d" + random.char(EMOJI)
    if random.below(4) == 0:
        text += "\ufe0f"
    return text


def long_word(random):
    length = 3000 if random.below(64) == 0 else 90 + random.below(30)
    return "".join(chr(0x61 + random.below(26)) for _ in range(length))


def any_character(random):
    code = random.below(0x110000 - 0x800)
    return chr(code + 0x800 if code >= 0xD800 else code)


def element(random):
    kind = random.below(32)
    if kind < 13:
        return word(random)
    if kind < 16:
        return accented(random)
    if kind < 21:
        return scripts(random)
    if kind < 23:
        return random.char(PUNCTUATION)
    if kind == 23:
        return emoji(random)
    if kind == 24:
        return random.char(CONTROLS)
    if kind < 27:
        return random.pick(ADDED)
    if kind == 27:
        return "".join(chr(0x30 + random.below(10)) for _ in range(1 + random.below(6)))
    if kind == 28:
        return random.char(MARKS) + random.char(MARKS)
    if kind == 29:
        return any_character(random)
    if kind == 30:
        return long_word(random) if random.below(8) == 0 else random.char(PUNCTUATION)
    return chr(random.pick(SPACES)) * (1 + random.below(3))


def random_string(index):
    random = Random(index * 0xD1342543DE82EF95 + 1)
    text = ""
    for _ in range(random.below(14)):
        text += element(random)
        separator = random.below(8)
        if separator < 4:
            text += " "
        elif separator == 4:
            text += chr(random.pick(SPACES))
    return text


def block_string(index):
    """Returns every character in a block between letters, or between combining marks."""
    block, marks = index % BLOCKS, index >= BLOCKS
    before, after = ("a\u0301", "\u0316b ") if marks else ("a", "b ")
    codes = range(block * BLOCK, (block + 1) * BLOCK)
    return "".join(before + chr(c) + after for c in codes if not 0xD800 <= c < 0xE000)


def corpus_string(index):
    return random_string(index) if index < RANDOM_STRINGS else block_string(index - RANDOM_STRINGS)


# --- The tokenizers ---

BERT = '"normalizer":{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":true}'
PRE = '"pre_tokenizer":{"type":"BertPreTokenizer"}'


def bert(clean, chinese, strip, lower):
    values = tuple(json.dumps(x) for x in (clean, chinese, strip, lower))
    return [BERT, '"normalizer":{"type":"BertNormalizer","clean_text":%s,"handle_chinese_chars":%s,"strip_accents":%s,"lowercase":%s}' % values]


VARIANTS = [
    ("uncased", []),
    ("cased", [bert(True, True, None, False)]),
    ("cased-strip-accents", [bert(False, False, True, False)]),
    ("uncased-keep-accents", [bert(True, True, False, True), [PRE, '"pre_tokenizer":{"type":"WhitespaceSplit"}'],
                              ['"max_input_chars_per_word":100', '"max_input_chars_per_word":12']]),
    ("sequence", [[BERT, '"normalizer":{"type":"Sequence","normalizers":[{"type":"NFD"},{"type":"StripAccents"},{"type":"Lowercase"}]}'],
                  [PRE, '"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Whitespace"},{"type":"BertPreTokenizer"}]}']]),
]


def train():
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False, strip_accents=None)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(vocab_size=5000, special_tokens=special, limit_alphabet=800, show_progress=False)
    tokenizer.train_from_iterator((random_string(i) for i in range(30000)), trainer)
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.decoder = decoders.WordPiece()
    ids = [(t, tokenizer.token_to_id(t)) for t in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0", pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1", special_tokens=ids)
    tokenizer.add_tokens([
        AddedToken("NewTok", normalized=True), AddedToken("solo", normalized=True, single_word=True),
        AddedToken("caf\u00e9+", normalized=True), AddedToken("<a>", normalized=False), AddedToken("<a>bc", normalized=False),
        AddedToken("two words", normalized=False)])
    tokenizer.add_special_tokens([
        AddedToken("<left>", lstrip=True), AddedToken("<right>", rstrip=True), AddedToken("<both>", lstrip=True, rstrip=True, normalized=True)])
    return json.dumps(json.loads(tokenizer.to_str()), ensure_ascii=False, separators=(",", ":"))


def variant_text(base, replacements):
    for old, new in replacements:
        assert base.count(old) == 1
        base = base.replace(old, new)
    return base


# --- Results ---


def byte_offsets(text, encoding, pair=None):
    """Converts character offsets in one of the two texts to byte offsets."""
    tables = [[0, *itertools.accumulate(len(c.encode()) for c in t)] for t in (text, pair or "")]
    sequences = encoding.sequence_ids
    return [[tables[s or 0][b], tables[s or 0][e]] for (b, e), s in zip(encoding.offsets, sequences)]


def pack(values):
    return struct.pack("<%dI" % len(values), *values)


def results(tokenizer, strings):
    """Returns each string's packed ids and packed byte offsets."""
    for start in range(0, len(strings), 1024):
        batch = strings[start : start + 1024]
        for text, encoding in zip(batch, tokenizer.encode_batch(batch)):
            offsets = encoding.offsets
            if len(text.encode()) != len(text):
                offsets = byte_offsets(text, encoding)
            yield pack(encoding.ids), pack(list(itertools.chain(*offsets)))


TEXTS = [
    "", " ", "The quick brown fox jumps over the lazy dog.", "HELLO, World! don't", "internationalization",
    "Ünïcödé: café, naïve, Ångström — and “curly quotes”.", "cafe\u0301 CAFE\u0301+ caf\u00e9+ Caf\u00e9 +",
    "北京是中国的首都。", "mixed中文and日本語テキスト", "한국어 텍스트 \u1112\u1161\u11ab", "नमस्ते दुनिया", "สวัสดีชาวโลก",
    "😀👍🏽👩‍👩‍👧 ok", "a\u0000b\u0001c\ufffdd\u00ade", "tab\tnew\nline\r\nnbsp\u00a0end", "İstanbul ΣΑΣ ẞ ǅ",
    "[CLS] [SEP] [MASK][MASK] [mask] [UNK]", "x[MASK]y", "NewTok newtok NEWTOK xNewToky", "solo solos _solo (solo) Solo-solo",
    "a <left> b <right> c <both> d<both>e  <BOTH>  f", "<a> <a>b <a>bc <a>bcd <a><a>bc", "two words two  words", "##ing ## ing#",
    "e\u0301\u0323\u0307 \u1eb9\u0301 q\u0307\u0323", "\u0344\u0323 \u0f73\u0f71", "\u212b\u2126\uf900\u2f800",
    "a" * 100, "a" * 101, "b" * 12 + " " + "b" * 13, "1234567890 3.14 1e-5", "...!?", "co-operate e-mail@example.com #tag",
    "\u3000full\u3000width\u3000ＡＢＣ１２３", "\u202eright to left\u202c שלום עולם مرحبا", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𐐀𐐁 \U0001e900",
    "do not ' s 've", "   leading and trailing   ", "\u200b\u200dzero\u2060width\ufeff", "straße STRASSE ﬁ ﬂ"]
PAIRS = [("what is this?", "this is a test."), ("", "only the second"), ("only the first", ""), ("[MASK] one", "two [SEP] ünï")]
LONG = "the quick brown fox jumps over the lazy dog again and again, until nobody is left to count the words"
TRUNCATIONS = [
    '{"direction":"Right","max_length":8,"strategy":"LongestFirst","stride":0}',
    '{"direction":"Left","max_length":8,"strategy":"LongestFirst","stride":1}',
    '{"direction":"Right","max_length":21,"strategy":"OnlyFirst","stride":0}',
    '{"max_length":23,"strategy":"OnlySecond","stride":0}',
    '{"direction":"Right","max_length":512,"strategy":"LongestFirst","stride":0}',
    '{"direction":"Right","max_length":3,"strategy":"LongestFirst","stride":0}']
PROCESSORS = ['"post_processor":null', '"post_processor":{"type":"BertProcessing","sep":["[SEP]",3],"cls":["[CLS]",2]}',
              '"post_processor":{"type":"TemplateProcessing","single":[{"Sequence":{"id":"A","type_id":2}},{"SpecialToken":{"id":"E","type_id":3}}],'
              '"pair":[{"Sequence":{"id":"B","type_id":1}},{"SpecialToken":{"id":"E","type_id":5}},{"Sequence":{"id":"A","type_id":4}}],'
              '"special_tokens":{"E":{"id":"E","ids":[3,4,3],"tokens":["[SEP]","[MASK]","[SEP]"]}}}']


def case(base, variant, replacements, text, pair=None, special=True):
    tokenizer = Tokenizer.from_str(variant_text(base, replacements))
    encoding = tokenizer.encode(text, pair, add_special_tokens=special)
    full = Tokenizer.from_str(variant_text(base, replacements))
    full.no_truncation()
    return {
        "variant": variant, "replace": replacements, "text": text, "pair": pair, "add_special": special,
        "max_length": (tokenizer.truncation or {}).get("max_length", 0),
        "ids": encoding.ids, "type_ids": encoding.type_ids, "special_mask": encoding.special_tokens_mask,
        "offsets": byte_offsets(text, encoding, pair),
        "truncated": len(full.encode(text, pair, add_special_tokens=special).ids) - len(encoding.ids),
        "decoded": tokenizer.decode(encoding.ids, skip_special_tokens=False), "plain": tokenizer.decode(encoding.ids)}


def cases(base):
    found = [case(base, name, replace, text) for name, replace in VARIANTS for text in TEXTS]
    found += [case(base, "uncased", [], a, b, special) for a, b in PAIRS for special in (True, False)]
    post = base[base.index('"post_processor":') : base.index(',"decoder":')]
    for processor in PROCESSORS:
        for a, b in [("a text", None)] + PAIRS[:3]:
            found += [case(base, "processor", [[post, processor]], a, b, special) for special in (True, False)]
    for truncation in TRUNCATIONS:
        replace = [['"truncation":null', '"truncation":' + truncation]]
        for a, b in [(LONG, None), ("short", None), (LONG, LONG), (LONG, "short"), ("short", LONG), (LONG[:30], LONG[:60])]:
            try:
                found.append(case(base, "truncation", replace, a, b))
            except Exception:  # it cannot be truncated as requested
                continue
    for decoder in ('"decoder":null', '"decoder":{"type":"WordPiece","prefix":"##","cleanup":false}'):
        old = base[base.index('"decoder":') : base.index(',"model":')]
        found += [case(base, "decoder", [[old, decoder]], text) for text in TEXTS[2:5]]
    return found


def write_json(path, value):
    with open(path, "w") as file:
        if isinstance(value, list):
            file.write("[\n" + ",\n".join(json.dumps(v, ensure_ascii=True, separators=(",", ":")) for v in value) + "\n]\n")
        else:
            file.write(json.dumps(value, indent=1) + "\n")


def make(folder, base):
    strings = [corpus_string(i) for i in range(CORPUS_SIZE)]
    corpus = hashlib.sha256()
    for text in strings:
        corpus.update(text.encode() + b"\xff")
    variants, short = [], bytearray()
    for name, replacements in VARIANTS:
        all_ids, all_offsets = hashlib.sha256(), hashlib.sha256()
        for ids, offsets in results(Tokenizer.from_str(variant_text(base, replacements)), strings):
            all_ids.update(ids)
            all_offsets.update(offsets)
            short.append(hashlib.sha256(ids + offsets).digest()[0])
        variants.append({"name": name, "replace": replacements, "ids_sha256": all_ids.hexdigest(), "offsets_sha256": all_offsets.hexdigest()})
    write_json(os.path.join(folder, "corpus.json"), {"strings": len(strings), "corpus_sha256": corpus.hexdigest(), "variants": variants})
    with open(os.path.join(folder, "hashes.bin"), "wb") as file:
        file.write(short)
    write_json(os.path.join(folder, "cases.json"), cases(base))


def compare(path, out):
    """Writes length-prefixed strings and, per string, ids, type ids and byte offsets, for comparison with a real tokenizer."""
    tokenizer = Tokenizer.from_file(path)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    strings = [corpus_string(i) for i in range(CORPUS_SIZE)]
    with open(out + ".strings", "wb") as file:
        for text in strings:
            data = text.encode()
            file.write(struct.pack("<I", len(data)) + data)
    with open(out + ".expected", "wb") as file:
        for ids, offsets in results(tokenizer, strings):
            file.write(struct.pack("<I", len(ids) // 4) + ids + offsets)


def main():
    if sys.argv[1:2] == ["--compare"]:
        return compare(*sys.argv[2:4])
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    arguments = [a for a in sys.argv[1:] if a != "--train"]
    folder = arguments[0] if arguments else os.path.join(root, "test/goldens/tokenizer")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "tokenizer.json")
    if "--train" in sys.argv or not os.path.exists(path):
        with open(path, "w") as file:
            file.write(train())
    make(folder, open(path).read())


if __name__ == "__main__":
    main()
