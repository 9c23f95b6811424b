// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Errors for tokenizer.json files with one change to the small ones in
// Fixture.h.
#pragma once
#include "test/runtime/tokenizer/Fixture.h"

namespace transom::test {

/// Returns the error for the small tokenizer with one string replaced.
Error getError(const std::string &from, const std::string &to);

/// Expects this error, `message` without the file's name.
void expectError(const std::string &from, const std::string &to, Status status,
                 const std::string &message);

/// The same for the small byte-pair tokenizer.
void expectBpeError(const std::string &from, const std::string &to,
                    Status status, const std::string &message);

/// The same for the small Unigram tokenizer.
void expectUnigramError(const std::string &from, const std::string &to,
                        Status status, const std::string &message);

/// Replaces each character in a tokenizer.json by each one in `others`: the
/// result is an error, or a tokenizer that encodes `text` and decodes its ids;
/// never a crash.
void expectChangesNeverCrash(const std::string &json, std::string_view others,
                             const std::string &text);

} // namespace transom::test
