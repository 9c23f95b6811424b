// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the metadata and writes a config.json; sizes and rope each have their
// own source.
#pragma once
#include "compiler/import/gguf/GgufConfig.h"
#include "runtime/json/Json.h"
#include <set>

namespace transom::gguf {

/// Writes one config.
class ConfigMaker {
public:
  ConfigMaker(const File &file, const Architecture &row)
      : file(file), row(row), json(config.json) {}

  Result<ConfigText> run();

private:
  //===--- Values --------------------------------------------------------===//

  std::string getKey(const std::string &key) const;
  const Value *find(const std::string &key);
  Error fail(const std::string &key, const Value &value,
             const std::string &text, Status status = Status::Rejected) const;
  Error missing(const std::string &key) const;
  /// Returns a size that may be given for each layer; all layers must agree.
  Result<int64_t> getSize(const std::string &key, const Value &value) const;
  Result<int64_t> getSize(const std::string &key, int64_t absent);
  Result<int64_t> getPositiveSize(const std::string &key);
  Result<double> getNumber(const std::string &key, const Value &value) const;
  Result<double> getNumber(const std::string &key, double absent);

  //===--- Writing -------------------------------------------------------===//

  void setOrigin(const std::string &name, const std::string &origin);
  /// Writes a number in the shortest form for its own type.
  void writeNumber(const std::string &name, const Value &value);
  Result<void> readSizes();
  Result<void> writeKind();
  Result<void> writeKey(const KeyMap &key);
  Result<void> writeAbsent(const KeyMap &key);
  /// Writes facts that follow from existing tensors and their shapes.
  Result<void> writeTensorFacts();
  Result<void> writeWindowPeriod();
  void writeScalar();
  /// Reads how token embeddings are pooled.
  Result<void> readPooling();

  //===--- Rope ----------------------------------------------------------===//

  Result<void> writeRope();
  /// Writes the fraction of a head that rope rotates.
  Result<void> writeShare();
  /// Returns the scaling type as named in config.json; empty: none.
  Result<std::string> getScaling();
  Result<void> writeScaling(const std::string &type);
  /// Writes the frequency divisors, which are few.
  Result<void> writeFactors();

  //===--- Keys that are not read ----------------------------------------===//

  Result<void> checkFixed(const std::string &key, double neutral);
  Result<void> checkFixedKeys();
  void noteUnknownKeys();

  const File &file;
  const Architecture &row;
  ConfigText config;
  JsonWriter json;
  int64_t hidden = 0, headSize = 0, window = 0;
  std::set<std::string> known;
};

} // namespace transom::gguf
