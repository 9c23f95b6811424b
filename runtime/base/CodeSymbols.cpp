// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds phase names, and parses micro-kernel names:
// `transom.k.ISA.TYPE.MRxNR...`.
#include "runtime/base/CodeSymbols.h"
#include <algorithm>
#include <charconv>

using namespace transom;

/// Max bytes for a location in a symbol.
static constexpr size_t maxLocation = 128;

/// Returns a character that gdb, perf and assemblers accept in a function name
/// without escapes; a comma ends a name in gdb.
static char getSymbolCharacter(char c) {
  if (c == ',')
    return '+';
  const bool isPlain =
      (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
      (c >= 'a' && c <= 'z') ||
      std::string_view("._-{}").find(c) != std::string_view::npos;
  return isPlain ? c : '_';
}

std::string transom::getPhaseSymbol(std::string_view isa,
                                    std::string_view phase,
                                    std::string_view location) {
  std::string symbol(phaseSymbolPrefix);
  symbol.append(isa).append(".").append(phase);
  if (location.empty())
    return symbol;
  std::string cleaned(location);
  std::transform(cleaned.begin(), cleaned.end(), cleaned.begin(),
                 getSymbolCharacter);
  // Keep the beginning and the end, the most informative parts.
  if (cleaned.size() > maxLocation)
    cleaned.replace(maxLocation / 2, cleaned.size() - maxLocation, "..");
  return symbol.append(".").append(cleaned);
}

/// Reads a positive number at the beginning of `text` and removes it.
static std::optional<int64_t> takeNumber(std::string_view &text) {
  int64_t number = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number <= 0)
    return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return number;
}

std::optional<KernelTile> transom::parseKernelTile(std::string_view symbol) {
  if (symbol.substr(0, kernelSymbolPrefix.size()) != kernelSymbolPrefix)
    return std::nullopt;
  // The instruction set and the type come before the tile.
  size_t at = kernelSymbolPrefix.size();
  for (int i = 0; i < 2; ++i) {
    at = symbol.find('.', at);
    if (at == std::string_view::npos)
      return std::nullopt;
    ++at;
  }
  std::string_view tile = symbol.substr(at);
  std::optional<int64_t> rows = takeNumber(tile);
  if (!rows || tile.empty() || tile.front() != 'x')
    return std::nullopt;
  const std::string_view rest = tile;
  tile.remove_prefix(1);
  std::optional<int64_t> columns = takeNumber(tile);
  if (!columns)
    return std::nullopt;
  return KernelTile{*rows, *columns,
                    std::string(symbol.substr(0, at)).append(rest)};
}
