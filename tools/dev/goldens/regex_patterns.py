# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Regular expressions with texts, and their matches in the PyPI package `tokenizers`. Used by make-pattern-goldens.py and
# compare-tokenizers.py.
import random

from tokenizers import Regex, normalizers, pre_tokenizers

# Patterns from published tokenizers, and each construct by itself.
WRITTEN = [
    r"(?<=[a-z])(?=[A-Z])", r"(?<=\s)\S", r"(?<!\w)'|'(?!\w)", r"(?<=[^\s])(?=[\p{P}])", r"(?<=a|bc|def)x", r"(?<!a|bc)x", r"(?<=a+)b", r"(?<=a{1,3})b",
    r"(?<=^|\s)\w", r"\d(?=(?:\d{3})+(?!\d))", r"\d{1,3}(?=(?:\d{3})*\b)", r"(?<=\d)(?=(?:\d{3})+$)", r"\b\w+\b", r"\B\w", r"\b", r"\B", r"^", r"$", r"\A", r"\z", r"\Z",
    r"^\s+|\s+$", r"(?m:^.*$)", r"(?m:a.b)", r"a(?=.*b)", r"a(?!.*b)", r"(?=ab)a|b", r"(?!ab)\w+", r"(?>a|ab)c", r"(?>a+)b", r"(?:ab|a)++b", r"(?:ab)*+c", r"(?:a|b){1,2}+",
    r"(?:ab?)?+b", r"(?>\s+)(?!\S)", r"a{1,2}?", r"a{2}?", r"a{,2}?b", r"a{2,1}", r"(|a)*", r"(a|b*)*c", r"(?:a?)*b", r"(a*)+", r"x*", r"", r"a|", r"[[:alpha:]]+", r"[[:^alpha:]]+",
    r"[\w&&[^\d_]]+", r"[a-c[x-z]]", r"[]a]", r"[^]a]", r"[\b]", r"\h+", r"\H", r"\R", r"\N+", r"\O", r"\x41|\x{1F600}|\u00e9|\101|\t|\e", r"\p{Greek}+", r"\p{Cyrillic}+", r"\p{Letter}+",
    r"\p{Uppercase_Letter}", r"\p{Emoji}", r"\p{Extended_Pictographic}", r"\P{L}+", r"\p{^L}+", r"\p{In_CJK_Unified_Ideographs}", r"(?i)stra\u00dfe", r"(?i:k)", r"(?i:\u00e9+)",
    r"a(?i)b|c", r"(?i-i:a)(?i:b)", r"(?x: a b # c" + "\n)", r"(?<name>a)b", r"a(?#comment)+b", r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|\s?\p{L}+", r"(?i:[\u00e0-\u00ff])+", r"(?i:[^\u00df])",
    r"(?<!(?<!a)b)c", r"(?=(?<=a)b)b", r"(?!(?!a))a", r"(?=a(?!b))\w+", r"(?<![\p{L}\p{N}])[\p{L}\p{N}]+(?![\p{L}\p{N}])", r"[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+",
    r"\p{Han}+|(?<=\p{Han})[^\p{Han}]", r"(?<=\n)\s*\w|\w+$", r"(?:(?<=a)|(?<=b))c|^c", r"\w(?=\w{2}\b)", r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+",
]
TEXTS = ["ab abc aabb abab aaa axbcxdefxx", "Hello world's fooBarBaz HTTPServer XMLHttp2", "12 1234 1234567 12345678 a1b22", "  a\n b\nc \n\n",
         "stra\u00dfe STRASSE \u212aK\u017fs \u00e9\u00c9 \u00df\u1e9e it's IT'LL", "\u03b1\u03b2 \u0411\u0432 \u65e5\u672c\u8a9eabc\u4e2d \U0001f600\u00a9 _x-y!", "", "a\r\nb\u2028\x08c]d^"]

ATOMS = ["a", "b", "c", "A", "B", " ", "\\n", "1", ".", "\\s", "\\S", "\\w", "\\W", "\\d", "[ab]", "[^a]", "[a-c]", "[^\\s\\w]", "\\p{L}", "\\p{Lu}", "\\p{N}",
         "[[:alpha:]]", "[a-z&&[^b]]", "\\h", "\u00e9", "\\p{Greek}"]
CONDITIONS = ["^", "$", "\\b", "\\B", "\\A", "\\z", "\\Z"]
GREEDY = ["*", "+", "?", "{2}", "{1,2}", "{0,2}", "{,2}", "{1,}"]
OTHER = ["*?", "+?", "??", "*+", "++", "?+", "{1,2}?", "{2}?", "{0,}?"]
FOLDED = "ss\u00df\u1e9effi\ufb01\ufb03StsKk\u212a\u00e4\u00c4\u00f6\u03c3\u03c2\u03a3i\u0131\u0130\u01c6\u01c5\u01c4\u0149\u0390 a"


def pattern(rng, depth, lookbehind=False):
    """Returns a random pattern. Lookbehinds contain only constructs that Oniguruma matches there reliably."""

    def inner(inside=lookbehind):
        return pattern(rng, depth - 1, inside)

    kind = rng.random()
    if depth <= 0 or kind < 0.38:
        return rng.choice(ATOMS + ([] if lookbehind else ["\\R"]))
    if kind < 0.46:
        return rng.choice(CONDITIONS)
    if kind < 0.60:
        return inner() + inner()
    if kind < 0.68:
        return "(?:%s)" % "|".join(inner() for _ in range(rng.randint(2, 3)))
    if kind < 0.70:
        return "(?:%s|)" % inner()
    if kind < 0.84:
        part = inner()
        return ("(?:%s)" % part if len(part) > 1 else part) + rng.choice(GREEDY if lookbehind else GREEDY + OTHER)
    if kind < 0.88 and not lookbehind:
        return "(?>%s)" % inner()
    if kind < 0.93 and not lookbehind:
        return "(?%s%s)" % (rng.choice("=!"), inner())
    if kind < 0.98:
        return "(?<%s%s)" % (rng.choice("=!"), inner(True))
    return "(?i:%s)" % inner()


def folded_pattern(rng):
    text = ""
    for _ in range(rng.randint(1, 4)):
        kind = rng.random()
        if kind < 0.6:
            text += rng.choice(FOLDED)
        elif kind < 0.8:
            text += "[%s%s]" % ("^" if rng.random() < 0.3 else "", "".join(rng.choice(FOLDED.strip()) for _ in range(rng.randint(1, 3))))
        elif kind < 0.9:
            text += rng.choice(["\\p{Lu}", "\\p{Ll}", "[\\p{Lu}]", "[^\\p{Ll}]", "\\w", "[[:upper:]]"])
        elif text and text[-1] not in "*+?":
            text += rng.choice("*+?")
    return "(?i:%s)" % text if rng.random() < 0.8 else "(?i)" + text


def random_case(seed):
    """Returns a pattern that the package accepts, and texts."""
    rng = random.Random("pattern %d" % seed)
    folds = seed % 8 == 0
    while True:
        text = folded_pattern(rng) if folds else pattern(rng, rng.randint(1, 5))
        try:
            Regex(text)
            break
        except Exception:
            continue
    letters = FOLDED if folds else "aaabbcAB 1\n \u00e9\u03b1-"
    return text, ["".join(rng.choice(letters) for _ in range(rng.randint(1, 12))) for _ in range(2)]


def marked(text, regex):
    """Returns the text, each match in brackets."""
    if not text:
        return ""
    replaced = normalizers.Replace(regex, "\x01").normalize_str(text)
    ends = dict(o for _, o in pre_tokenizers.Split(regex, "removed", invert=True).pre_tokenize_str(text))
    found, at, next_ = "", 0, 0
    while at < len(text) or next_ < len(replaced):
        if replaced[next_ : next_ + 1] == "\x01":
            end = ends.get(at, at)
            found += "[%s]" % text[at:end]
            at, next_ = end, next_ + 1
        else:
            found += text[at]
            at, next_ = at + 1, next_ + 1
    return found
