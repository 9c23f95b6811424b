// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ids to text one by one. The decoder of tokenizer.json is a chain of stages;
// each gives on what no later id can change, so the text that comes out is
// always whole characters, and all of it together is what decoding at once
// gives.
#pragma once
#include "runtime/base/Error.h"
#include "runtime/tokenizer/Tables.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace transom {

class Tokenizer;

/// The state of decoding a stream of ids; a copy continues on its own. It
/// reads the tokenizer's tables, which outlive it. Memory grows with the
/// longest token and with what is not final yet, not with the stream.
class DecodeStream {
public:
  /// `keepsSpaces`: without the last stage, where that cleans up spaces.
  /// `Unsupported` where tokenizer.json has a decoder that is not supported.
  static Result<DecodeStream> create(const Tokenizer &tokenizer,
                                     bool skipSpecial = true,
                                     bool keepsSpaces = false);

  /// Appends to `text` what is final after `id`: whole characters, maybe none.
  /// Ids without a token are left out, special tokens too with `skipSpecial`.
  void feed(int64_t id, std::string &text);

  /// Appends the rest; bytes that are no character are U+FFFD, as decoding at
  /// once has them. The stream is as new then.
  void flush(std::string &text);

  /// Forgets all ids.
  void reset();

private:
  /// What a stage remembers between tokens.
  struct Stage {
    tokenizer::Step step{};
    bool started = false;  ///< a token has come
    bool first = true;     ///< that is the first one
    bool stripping = true; ///< the token has only had stripped characters
    uint32_t stripped = 0; ///< at the token's start
    uint32_t held = 0;     ///< characters that may be stripped at its end
    std::string pending;   ///< input that is not final
    std::string made;      ///< output for the next stage
  };

  DecodeStream(const tokenizer::Tables &tables, bool skipSpecial,
               bool keepsSpaces);
  std::string_view getText(tokenizer::TextRef ref) const;
  /// A token, or a further part of it, for the stage `index`.
  void run(size_t index, std::string_view token, bool starts,
           std::string &text);
  void runStage(Stage &stage, std::string_view token, bool starts);
  void finish(Stage &stage);
  void byteLevel(Stage &stage, std::string_view token);
  void strip(Stage &stage, std::string_view token, bool starts);
  void stripWhitespace(Stage &stage, std::string_view token);

  tokenizer::Tables tables;
  bool skipSpecial;
  std::vector<Stage> stages;
};

} // namespace transom
