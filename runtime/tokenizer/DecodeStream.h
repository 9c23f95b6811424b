// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Converts ids to text one by one. The decoder in tokenizer.json is a chain of
// stages; each emits only text that no later id can change, so the output
// always consists of complete characters and in total equals the result of
// decoding all ids at once.
#pragma once
#include "runtime/base/Error.h"
#include "runtime/tokenizer/Tables.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace transom {

class Tokenizer;

/// Decoding state for a stream of ids; a copy continues independently. It reads
/// the tokenizer's tables, which must outlive it. Memory grows with the longest
/// token and with text that is not final yet, not with the stream length.
class DecodeStream {
public:
  /// `keepsSpaces` omits the last stage if it cleans up spaces. Returns
  /// `Unsupported` if tokenizer.json has an unsupported decoder.
  static Result<DecodeStream> create(const Tokenizer &tokenizer,
                                     bool skipSpecial = true,
                                     bool keepsSpaces = false);

  /// Appends to `text` all characters that are final after `id`: complete
  /// characters, maybe none. Ids without a token are skipped; also special
  /// tokens if `skipSpecial` is set.
  void feed(int64_t id, std::string &text);

  /// Appends the rest; bytes that are not a character become U+FFFD, as in
  /// decoding all ids at once. Resets the stream.
  void flush(std::string &text);

  /// Discards all ids.
  void reset();

private:
  /// Stage state between tokens.
  struct Stage {
    tokenizer::Step step{};
    bool started = false;  ///< a token has arrived
    bool first = true;     ///< it is the first one
    bool stripping = true; ///< the token so far has only stripped characters
    uint32_t stripped = 0; ///< at the token's start
    uint32_t held = 0;   ///< characters that may be stripped at the token's end
    std::string pending; ///< input that is not final
    std::string made;    ///< output for the next stage
  };

  DecodeStream(const tokenizer::Tables &tables, bool skipSpecial,
               bool keepsSpaces);
  std::string_view getText(tokenizer::TextRef ref) const;
  /// Passes a token, or a further part of it, to the stage `index`.
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
