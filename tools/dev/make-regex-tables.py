#!/usr/bin/env python3
# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Writes compiler/import/tokenizer/regex/RegexTables.cpp: the properties that regular expressions name (scripts, blocks, binary properties, POSIX
# classes), the case folding, and the scripts that the pre-tokenizer UnicodeScripts distinguishes. All are queried from the PyPI package
# `tokenizers` for every code point, since no single Unicode version reproduces its results.
#
#   pip install tokenizers==0.23.3
#   tools/dev/make-regex-tables.py
import os
import textwrap

import tokenizers
from tokenizers import Regex, normalizers, pre_tokenizers

CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
TEXT = "".join(map(chr, CODE_POINTS))
BANNER = """\
// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
"""
POSIX = "alnum alpha ascii blank cntrl digit graph lower print punct space upper word xdigit".split()
CATEGORIES = """Letter Uppercase_Letter Lowercase_Letter Cased_Letter Titlecase_Letter Modifier_Letter Other_Letter Mark
Combining_Mark Nonspacing_Mark Spacing_Mark Enclosing_Mark Number Decimal_Number Letter_Number Other_Number Punctuation
Connector_Punctuation Dash_Punctuation Open_Punctuation Close_Punctuation Initial_Punctuation Final_Punctuation
Other_Punctuation Symbol Math_Symbol Currency_Symbol Modifier_Symbol Other_Symbol Separator Space_Separator
Line_Separator Paragraph_Separator Other Control Format Surrogate Private_Use Unassigned C Cc Cf Cn Co Cs L LC Ll Lm Lo
Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf Pi Po Ps S Sc Sk Sm So Z Zl Zp Zs""".split()
PROPERTIES = """Alphabetic Uppercase Lowercase White_Space Emoji Emoji_Presentation Emoji_Modifier Emoji_Modifier_Base
Emoji_Component Extended_Pictographic ID_Start ID_Continue XID_Start XID_Continue Math Hex_Digit ASCII_Hex_Digit
Ideographic Unified_Ideograph Dash Hyphen Quotation_Mark Terminal_Punctuation Sentence_Terminal Diacritic Extender Cased
Case_Ignorable Default_Ignorable_Code_Point Grapheme_Base Grapheme_Extend Join_Control Logical_Order_Exception
Noncharacter_Code_Point Pattern_Syntax Pattern_White_Space Radical Regional_Indicator Soft_Dotted Variation_Selector
Deprecated Bidi_Control Any Assigned ASCII Alnum Alpha Blank Cntrl Digit Graph Lower Print Punct Space Upper XDigit Word
Newline""".split()
SCRIPTS = """Adlam Ahom Anatolian_Hieroglyphs Arabic Armenian Avestan Balinese Bamum Bassa_Vah Batak Bengali Bhaiksuki
Bopomofo Brahmi Braille Buginese Buhid Canadian_Aboriginal Carian Caucasian_Albanian Chakma Cham Cherokee Chorasmian
Common Coptic Cuneiform Cypriot Cypro_Minoan Cyrillic Deseret Devanagari Dives_Akuru Dogra Duployan
Egyptian_Hieroglyphs Elbasan Elymaic Ethiopic Garay Georgian Glagolitic Gothic Grantha Greek Gujarati Gunjala_Gondi
Gurmukhi Gurung_Khema Han Hangul Hanifi_Rohingya Hanunoo Hatran Hebrew Hiragana Imperial_Aramaic Inherited
Inscriptional_Pahlavi Inscriptional_Parthian Javanese Kaithi Kannada Katakana Kawi Kayah_Li Kharoshthi
Khitan_Small_Script Khmer Khojki Khudawadi Kirat_Rai Lao Latin Lepcha Limbu Linear_A Linear_B Lisu Lycian Lydian
Mahajani Makasar Malayalam Mandaic Manichaean Marchen Masaram_Gondi Medefaidrin Meetei_Mayek Mende_Kikakui
Meroitic_Cursive Meroitic_Hieroglyphs Miao Modi Mongolian Mro Multani Myanmar Nabataean Nag_Mundari Nandinagari
New_Tai_Lue Newa Nko Nushu Nyiakeng_Puachue_Hmong Ogham Ol_Chiki Ol_Onal Old_Hungarian Old_Italic Old_North_Arabian
Old_Permic Old_Persian Old_Sogdian Old_South_Arabian Old_Turkic Old_Uyghur Oriya Osage Osmanya Pahawh_Hmong Palmyrene
Pau_Cin_Hau Phags_Pa Phoenician Psalter_Pahlavi Rejang Runic Samaritan Saurashtra Sharada Shavian Siddham SignWriting
Sinhala Sogdian Sora_Sompeng Soyombo Sundanese Sunuwar Syloti_Nagri Syriac Tagalog Tagbanwa Tai_Le Tai_Tham Tai_Viet
Takri Tamil Tangsa Tangut Telugu Thaana Thai Tibetan Tifinagh Tirhuta Todhri Toto Tulu_Tigalari Ugaritic Unknown Vai
Vithkuqi Wancho Warang_Citi Yezidi Yi Zanabazar_Square Arab Armn Beng Bopo Cyrl Deva Ethi Geor Grek Gujr Guru Hang Hani
Hebr Hira Kana Khmr Knda Laoo Latn Mlym Mong Mymr Orya Sinh Taml Telu Thaa Tibt Zinh Zyyy Zzzz""".split()
BLOCKS = """Basic_Latin Latin_1_Supplement Latin_Extended_A Latin_Extended_B Latin_Extended_Additional IPA_Extensions
Spacing_Modifier_Letters Combining_Diacritical_Marks Greek_and_Coptic Greek_Extended Cyrillic Cyrillic_Supplement
Armenian Hebrew Arabic Arabic_Supplement Devanagari Bengali Gurmukhi Gujarati Tamil Telugu Kannada Malayalam Thai Lao
Tibetan Myanmar Georgian Hangul_Jamo Hangul_Compatibility_Jamo Hangul_Syllables Hangul_Jamo_Extended_A
Hangul_Jamo_Extended_B Ethiopic Khmer Mongolian General_Punctuation Superscripts_and_Subscripts Currency_Symbols
Letterlike_Symbols Number_Forms Arrows Mathematical_Operators Miscellaneous_Technical Control_Pictures
Enclosed_Alphanumerics Box_Drawing Block_Elements Geometric_Shapes Miscellaneous_Symbols Dingbats Braille_Patterns
CJK_Radicals_Supplement Kangxi_Radicals CJK_Symbols_and_Punctuation Hiragana Katakana Bopomofo Kanbun
Katakana_Phonetic_Extensions Enclosed_CJK_Letters_and_Months CJK_Compatibility CJK_Unified_Ideographs_Extension_A
CJK_Unified_Ideographs CJK_Compatibility_Ideographs CJK_Compatibility_Forms Alphabetic_Presentation_Forms
Arabic_Presentation_Forms_A Arabic_Presentation_Forms_B Variation_Selectors Halfwidth_and_Fullwidth_Forms Specials
Private_Use_Area Mathematical_Alphanumeric_Symbols Emoticons Transport_and_Map_Symbols
Supplemental_Symbols_and_Pictographs Miscellaneous_Symbols_and_Pictographs CJK_Unified_Ideographs_Extension_B
CJK_Unified_Ideographs_Extension_C CJK_Unified_Ideographs_Extension_D CJK_Unified_Ideographs_Extension_E
CJK_Unified_Ideographs_Extension_F CJK_Unified_Ideographs_Extension_G""".split()


def matched(pattern):
    """Returns the range borders of the code points that a pattern matches; None if the package rejects it."""
    try:
        regex = Regex(pattern)
    except Exception:
        return None
    kept = [False] * len(CODE_POINTS)
    for _, (begin, end) in pre_tokenizers.Split(regex, "removed").pre_tokenize_str(TEXT):
        kept[begin:end] = [True] * (end - begin)
    borders, inside = [], False
    for c, outside in zip(CODE_POINTS, kept):
        if outside == inside:
            borders.append(0xD800 if inside and c == 0xE000 else c)
            inside = not inside
    return borders + [0x110000] * inside


def named_sets():
    """Returns property names in lower case, without separators; POSIX names are in brackets."""
    patterns = {"[:%s:]" % name: "[[:%s:]]" % name for name in POSIX}
    for name in CATEGORIES + PROPERTIES + SCRIPTS + ["In_" + block for block in BLOCKS]:
        patterns[name.replace("_", "").lower()] = "\\p{%s}" % name
    found = {name: matched(pattern) for name, pattern in sorted(patterns.items())}
    print("not in the package:", *[name for name, borders in found.items() if borders is None])
    return {name: borders for name, borders in found.items() if borders is not None}


def folds():
    """Returns groups of characters that match each other without case, and strings that match a character."""
    cased = [c for c in CODE_POINTS if len({chr(c), chr(c).lower(), chr(c).upper(), chr(c).casefold(), chr(c).title()}) > 1]
    cased = sorted(set(cased) | {ord(x) for c in cased for x in chr(c).lower() + chr(c).upper() + chr(c).casefold()})
    text = " ".join(map(chr, cased))
    groups, strings, seen = [], {}, set()
    for c in cased:
        spans = pre_tokenizers.Split(Regex("(?i:\\x{%X})" % c), "removed", invert=True).pre_tokenize_str(text)
        group = [ord(x) for piece, _ in spans for x in piece if x != " "]
        if c not in seen and len(group) > 1:
            groups.append(group)
            seen.update(group)
        folded = chr(c).casefold()
        if len(folded) > 1 and normalizers.Replace(Regex("(?i:\\x{%X})" % c), "").normalize_str(folded) == "":
            strings.setdefault(folded, []).append(c)
    return groups, strings


def scripts():
    """Returns runs of code points with the same script in the pre-tokenizer; number 0 belongs to every script."""
    split = pre_tokenizers.UnicodeScripts().pre_tokenize_str
    probes = "".join("a%s\u03b1%sa" % (chr(c), chr(c)) for c in CODE_POINTS)
    begins = {begin for _, (begin, _) in split(probes)}
    common = {c for i, c in enumerate(CODE_POINTS) if 5 * i + 1 not in begins and 5 * i + 3 not in begins}
    rest = [c for c in CODE_POINTS if c not in common]
    numbers, representatives = {}, []
    for _, (begin, end) in split("".join(map(chr, rest))):
        first = chr(rest[begin])
        number = next((i for i, r in enumerate(representatives) if len(split(r + first)) == 1), len(representatives))
        if number == len(representatives):
            representatives.append(first)
        numbers.update((c, number + 1) for c in rest[begin:end])
    numbers.update((c, 0) for c in common)
    runs, last = [], None
    for c in CODE_POINTS:
        if numbers[c] != last:
            runs.append(c << 8 | numbers[c])
            last = numbers[c]
    return runs, len(representatives)


def array(out, declaration, values):
    out.append("%s[%d] = {" % (declaration, len(values)))
    line = ""
    for value in values:
        if len(line) + len(str(value)) > 96:
            out.append(line)
            line = ""
        line += str(value) + ","
    out += [line, "};"]


def main():
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    named, (groups, strings), (runs, script_count) = named_sets(), folds(), scripts()
    pool, offsets, entries = [], {}, []
    for name, borders in named.items():
        key = tuple(borders)
        if key not in offsets:
            offsets[key] = len(pool)
            pool += [b - a for a, b in zip([0] + borders, borders)]
        entries.append('{"%s",%d,%d}' % (name, offsets[key], len(borders)))
    text = (
        "Generated by tools/dev/make-regex-tables.py; do not edit. Properties, case folding and scripts as the PyPI"
        " package tokenizers %s has them." % tokenizers.__version__
    )
    out = [BANNER + textwrap.fill(text, 80, initial_indent="// ", subsequent_indent="// ")]
    out += ['#include "compiler/import/tokenizer/regex/RegexTables.h"', "", "// clang-format off", "namespace transom::tokenizer {"]
    array(out, "const NamedRanges namedRanges", entries)
    out.append("const size_t namedRangeCount = %d;" % len(entries))
    array(out, "const uint32_t rangeSteps", pool)
    # The first member of a group has the highest bit set.
    array(out, "const uint32_t foldGroups", [c | (0x80000000 if i == 0 else 0) for group in groups for i, c in enumerate(group)])
    out.append("const size_t foldGroupsSize = %d;" % sum(map(len, groups)))
    escaped = {text: "".join("\\x%02x" % b for b in text.encode()) for text in strings}
    array(out, "const FoldString foldStrings", ['{"%s",%d}' % (escaped[text], c) for text, codes in sorted(strings.items()) for c in codes])
    out.append("const size_t foldStringCount = %d;" % sum(map(len, strings.values())))
    array(out, "const uint32_t scriptRuns", runs)
    out.append("const size_t scriptRunCount = %d;" % len(runs))
    out.append("} // namespace transom::tokenizer")
    with open(os.path.join(root, "compiler/import/tokenizer/regex/RegexTables.cpp"), "w") as file:
        file.write("\n".join(out) + "\n")
    print("%d names, %d steps, %d case groups, %d strings, %d runs of %d scripts"
          % (len(entries), len(pool), len(groups), len(strings), len(runs), script_count))


if __name__ == "__main__":
    main()
