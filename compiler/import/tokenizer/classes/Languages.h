// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Translation languages and their tokens.
#pragma once
#include "compiler/import/tokenizer/TablesWriter.h"

namespace transom::tokenizer {

// Language codes in transformers' classes, in id order.

/// MBartTokenizer.
inline constexpr const char *mbartLanguages[] = {
    "ar_AR", "cs_CZ", "de_DE", "en_XX", "es_XX", "et_EE", "fi_FI",
    "fr_XX", "gu_IN", "hi_IN", "it_IT", "ja_XX", "kk_KZ", "ko_KR",
    "lt_LT", "lv_LV", "my_MM", "ne_NP", "nl_XX", "ro_RO", "ru_RU",
    "si_LK", "tr_TR", "vi_VN", "zh_CN"};

/// MBart50Tokenizer, after MBartTokenizer's codes.
inline constexpr const char *mbart50Languages[] = {
    "af_ZA", "az_AZ", "bn_IN", "fa_IR", "he_IL", "hr_HR", "id_ID",
    "ka_GE", "km_KH", "mk_MK", "ml_IN", "mn_MN", "mr_IN", "pl_PL",
    "ps_AF", "pt_XX", "sv_SE", "sw_KE", "ta_IN", "te_IN", "th_TH",
    "tl_XX", "uk_UA", "ur_PK", "xh_ZA", "gl_ES", "sl_SI"};

/// M2M100Tokenizer.
inline constexpr const char *m2m100Languages[] = {
    "af",  "am", "ar", "ast", "az", "ba", "be", "bg", "bn", "br", "bs", "ca",
    "ceb", "cs", "cy", "da",  "de", "el", "en", "es", "et", "fa", "ff", "fi",
    "fr",  "fy", "ga", "gd",  "gl", "gu", "ha", "he", "hi", "hr", "ht", "hu",
    "hy",  "id", "ig", "ilo", "is", "it", "ja", "jv", "ka", "kk", "km", "kn",
    "ko",  "lb", "lg", "ln",  "lo", "lt", "lv", "mg", "mk", "ml", "mn", "mr",
    "ms",  "my", "ne", "nl",  "no", "ns", "oc", "or", "pa", "pl", "ps", "pt",
    "ro",  "ru", "sd", "si",  "sk", "sl", "so", "sq", "sr", "ss", "su", "sv",
    "sw",  "ta", "th", "tl",  "tn", "tr", "uk", "ur", "uz", "vi", "wo", "xh",
    "yi",  "yo", "zh", "zu"};

/// M2M100Tokenizer with `language_codes` "wmt21".
inline constexpr const char *wmt21Languages[] = {"en", "ha", "is", "ja",
                                                 "cs", "ru", "zh", "de"};

/// Makes each special token that is a language code a language, and such a
/// token in the template the source language slot. Codes have the forms
/// `en_XX`, `eng_Latn` or `__en__`. Without one in the template there are no
/// languages.
void findLanguages(Draft &draft);

} // namespace transom::tokenizer
