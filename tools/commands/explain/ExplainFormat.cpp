// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Formats numbers, locations and tables.
#include "tools/commands/explain/ExplainFormat.h"
#include "runtime/base/Utf8.h"
#include "tools/commands/Command.h"
#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

using namespace transom;
using namespace transom::tools;

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

std::string tools::formatCount(int64_t count) {
  const char *prefixes[] = {"", " k", " M", " G", " T", " P"};
  double value = static_cast<double>(count);
  int prefix = 0;
  for (; std::abs(value) >= 999.5 && prefix < 5; ++prefix)
    value /= 1000;
  char text[64];
  snprintf(text, sizeof text,
           prefix && std::abs(value) < 99.95 ? "%.1f%s" : "%.0f%s", value,
           prefixes[prefix]);
  return text;
}

std::string tools::formatCount(const Amount &amount) {
  return amount.value ? formatCount(*amount.value) : "?";
}

std::string tools::formatBytes(const Amount &amount) {
  return amount.value && *amount.value >= 0
             ? formatBytes(static_cast<uint64_t>(*amount.value))
             : "?";
}

std::string tools::formatNumber(int64_t count, const std::string &thing) {
  return std::to_string(count) + " " + thing + (count == 1 ? "" : "s");
}

std::string tools::formatTime(double ms) {
  char text[32];
  if (ms >= 1000)
    snprintf(text, sizeof text, "%.2f s", ms / 1000);
  else if (ms >= 1)
    snprintf(text, sizeof text, ms < 100 ? "%.2f ms" : "%.0f ms", ms);
  else
    snprintf(text, sizeof text, "%.1f us", ms * 1000);
  return text;
}

std::string tools::join(const std::vector<std::string> &texts,
                        const char *separator) {
  std::string joined;
  for (const std::string &text : texts)
    joined += (joined.empty() ? "" : separator) + text;
  return joined;
}

std::string tools::formatPercent(double share) {
  char text[32];
  snprintf(text, sizeof text, "%.0f %%", 100 * share);
  return text;
}

double tools::getShare(int64_t some, int64_t whole) {
  return whole > 0 ? static_cast<double>(some) / static_cast<double>(whole) : 0;
}

//===----------------------------------------------------------------------===//
// Locations
//===----------------------------------------------------------------------===//

/// Parses `3`, `0-11` or `0-2,5`; returns false for other strings.
static bool readNumbers(std::string_view text, std::set<int64_t> &numbers) {
  const char *at = text.data(), *end = at + text.size();
  while (at != end) {
    int64_t first = 0;
    auto read = std::from_chars(at, end, first);
    if (read.ec != std::errc() || first < 0)
      return false;
    int64_t last = first;
    if (read.ptr != end && *read.ptr == '-')
      read = std::from_chars(read.ptr + 1, end, last);
    constexpr int64_t most = 8192;
    if (read.ec != std::errc() || last < first || last - first > most)
      return false;
    for (int64_t number = first; number <= last; ++number)
      numbers.insert(number);
    at = read.ptr;
    if (at != end && *at++ != ',')
      return false;
  }
  return !numbers.empty();
}

/// Splits a string at separators outside of braces.
static std::vector<std::string_view> splitOutsideBraces(std::string_view text,
                                                        char separator) {
  std::vector<std::string_view> items;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = begin;
    for (int depth = 0;
         end < text.size() && (depth > 0 || text[end] != separator); ++end)
      depth += text[end] == '{' ? 1 : text[end] == '}' ? -1 : 0;
    items.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return items;
}

/// Returns `a,b` for `{a,b}`; other strings are returned unchanged.
static std::string_view withoutBraces(std::string_view name) {
  if (name.size() > 2 && name.front() == '{' && name.back() == '}')
    return name.substr(1, name.size() - 2);
  return name;
}

LayerPath tools::splitLayer(const std::string &path) {
  for (std::string_view name : splitOutsideBraces(path, '.')) {
    LayerPath result;
    if (readNumbers(withoutBraces(name), result.layers)) {
      const auto end = static_cast<size_t>(name.end() - path.data());
      result.rest = end < path.size() ? path.substr(end + 1) : "";
      return result;
    }
  }
  return {path, {}};
}

/// Returns true for `{a,b}`, but not for a layer range such as `{0-3}`.
static bool isSeveralNames(std::string_view name) {
  std::set<int64_t> numbers;
  const std::string_view inner = withoutBraces(name);
  return inner.size() != name.size() && !readNumbers(inner, numbers);
}

std::string tools::getCommonPath(const std::string &path) {
  std::string common;
  for (std::string_view name : splitOutsideBraces(path, '.')) {
    if (isSeveralNames(name))
      break;
    common += (common.empty() ? "" : ".") + std::string(name);
  }
  return common;
}

std::string tools::shortenPath(const std::string &path) {
  std::string shortened;
  for (std::string_view name : splitOutsideBraces(path, '.')) {
    if (isSeveralNames(name)) {
      if (!shortened.empty())
        break;
      name = splitOutsideBraces(withoutBraces(name), ',').back();
    }
    shortened += (shortened.empty() ? "" : ".") + std::string(name);
  }
  return shortened;
}

std::vector<std::string> tools::splitPath(const std::string &path) {
  std::vector<std::string> modules;
  for (std::string_view name : splitOutsideBraces(path, '.')) {
    std::set<int64_t> numbers;
    if (!modules.empty() && readNumbers(withoutBraces(name), numbers))
      modules.back() += "." + std::string(name);
    else
      modules.emplace_back(name);
  }
  return modules;
}

bool tools::nameCommonModule(const std::string &a, const std::string &b) {
  const auto partsA = splitOutsideBraces(a, '.');
  const auto partsB = splitOutsideBraces(b, '.');
  auto haveCommonName = [](std::string_view partA, std::string_view partB) {
    const auto namesB = splitOutsideBraces(withoutBraces(partB), ',');
    for (std::string_view name : splitOutsideBraces(withoutBraces(partA), ','))
      if (std::find(namesB.begin(), namesB.end(), name) != namesB.end())
        return true;
    return false;
  };
  return std::equal(partsA.begin(), partsA.end(), partsB.begin(), partsB.end(),
                    haveCommonName);
}

std::string tools::formatLayers(const std::set<int64_t> &layers) {
  if (layers.empty())
    return {};
  std::string text;
  for (auto at = layers.begin(); at != layers.end();) {
    const int64_t first = *at;
    int64_t last = first;
    for (++at; at != layers.end() && *at == last + 1; ++at)
      ++last;
    text += (text.empty() ? "" : ", ") + std::to_string(first);
    if (last > first)
      text += "-" + std::to_string(last);
  }
  return (layers.size() == 1 ? "layer " : "layers ") + text;
}

std::string tools::joinPlace(const std::string &rest,
                             const std::set<int64_t> &layers) {
  if (layers.empty() || rest.empty())
    return rest + formatLayers(layers);
  return rest + ", " + formatLayers(layers);
}

std::string tools::formatPlace(const std::string &path) {
  const LayerPath place = splitLayer(path);
  return joinPlace(shortenPath(place.rest), place.layers);
}

//===----------------------------------------------------------------------===//
// Remarks
//===----------------------------------------------------------------------===//

std::string RemarkGroup::getPlace() const {
  return joinPlace(shortenPath(splitLayer(first->place.location).rest), layers);
}

/// Replaces all occurrences.
static std::string replaceAll(std::string text, const std::string &from,
                              const std::string &to) {
  for (size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

/// Returns a message with `.#.` in place of the layer number in its paths.
static std::string getPattern(const std::string &message,
                              const std::set<int64_t> &layers) {
  if (layers.size() != 1)
    return message;
  return replaceAll(message, "." + std::to_string(*layers.begin()) + ".",
                    ".#.");
}

std::string RemarkGroup::getMessage() const {
  if (pattern.find(".#.") == std::string::npos)
    return first->message;
  const std::string range = formatLayers(layers);
  const std::string numbers = range.substr(range.find(' ') + 1);
  return replaceAll(pattern, ".#.",
                    layers.size() == 1 ? "." + numbers + "."
                                       : ".{" + numbers + "}.");
}

std::vector<RemarkGroup>
tools::groupRemarks(const std::vector<const ExplainedRemark *> &remarks) {
  std::vector<RemarkGroup> groups;
  std::map<std::vector<std::string>, size_t> known;
  for (const ExplainedRemark *remark : remarks) {
    const LayerPath place = splitLayer(remark->place.location);
    const std::string pattern = getPattern(remark->message, place.layers);
    auto [at, isNew] =
        known.try_emplace({remark->kind, remark->category, pattern, place.rest,
                           place.layers.empty() ? "" : "layer"},
                          groups.size());
    if (isNew)
      groups.push_back({remark, {}, 0, pattern});
    RemarkGroup &group = groups[at->second];
    group.layers.insert(place.layers.begin(), place.layers.end());
    ++group.count;
  }
  return groups;
}

//===----------------------------------------------------------------------===//
// Phases
//===----------------------------------------------------------------------===//

int64_t tools::getLeastMemory(const ExplainedEntry &entry) {
  int64_t least = entry.arenaLowerBound.value.value_or(0);
  for (size_t step = 0; step < entry.memorySteps.size(); ++step) {
    int64_t live = 0;
    for (const ExplainedBuffer &buffer : entry.buffers)
      if (buffer.first <= static_cast<int64_t>(step) &&
          static_cast<int64_t>(step) <= buffer.last)
        live += buffer.bytes.value.value_or(0);
    least = std::max(least, live);
  }
  return least;
}

std::string tools::formatCall(const ExampleCall &call) {
  std::string text = formatNumber(call.batch, "sequence") + " of " +
                     formatNumber(call.length, "token");
  if (call.past)
    text += " after " + formatNumber(call.past, "token");
  return text;
}

std::string tools::formatCall(const PaddedCall &call) {
  std::vector<std::string> lengths;
  for (int64_t length : call.lengths)
    lengths.push_back(std::to_string(length));
  return formatNumber(static_cast<int64_t>(lengths.size()), "sequence") +
         " of " + join(lengths, " and ") + " tokens";
}

std::string tools::getPlainName(const PhaseOperation &operation) {
  if (operation.name == "kern.gemm" || operation.name == "kern.batch_matmul")
    return "product";
  return operation.name.substr(operation.name.find('.') + 1);
}

std::string tools::describePlace(const PhaseOperation &operation) {
  const std::string rest = splitLayer(operation.place.location).rest;
  if (operation.joined.empty())
    return shortenPath(rest);
  const std::string common = getCommonPath(rest);
  return common + (common.empty() ? "" : ": ") + join(operation.joined) +
         " projections";
}

std::string tools::describePlace(const ExplainedPhase &phase) {
  for (const PhaseOperation &operation : phase.operations)
    if (!operation.joined.empty())
      return describePlace(operation);
  std::string rest = splitLayer(phase.place.location).rest;
  // Fused operations from several modules may share only the layer; then the
  // weight name is more specific.
  for (const PhaseOperation &operation : phase.operations)
    if (rest.empty() && operation.columns && !operation.weights.empty()) {
      rest = splitLayer(operation.weights.front()).rest;
      rest = rest.substr(0, rest.rfind('.'));
    }
  return shortenPath(rest);
}

std::string tools::describePhase(const ExplainedPhase &phase) {
  // Count equal items.
  std::vector<std::pair<std::string, int64_t>> items;
  auto add = [&](const std::string &item) {
    auto known =
        std::find_if(items.begin(), items.end(),
                     [&](const auto &other) { return other.first == item; });
    if (known == items.end())
      items.emplace_back(item, 1);
    else
      ++known->second;
  };
  for (const PhaseOperation &operation : phase.operations) {
    if (operation.columns == 0)
      continue;
    std::string item = getPlainName(operation) + " " + operation.detail;
    if (operation.columns != operation.paddedColumns)
      item +=
          ", " +
          formatPercent(getShare(operation.columns, operation.paddedColumns)) +
          " of columns used";
    add(item);
  }
  const bool hasProducts = !items.empty();
  if (!hasProducts)
    for (const PhaseOperation &operation : phase.operations)
      add(getPlainName(operation));

  // List as many items as fit into a table column.
  constexpr size_t room = 58;
  std::string text;
  for (size_t i = 0; i < items.size(); ++i) {
    std::string item = (items[i].second > 1 && hasProducts
                            ? std::to_string(items[i].second) + " x "
                            : "") +
                       items[i].first;
    if (i && text.size() + item.size() > room)
      return text + " and " + std::to_string(items.size() - i) + " more";
    text += (i ? ", " : "") + item;
  }
  return text;
}

//===----------------------------------------------------------------------===//
// Lines
//===----------------------------------------------------------------------===//

void tools::appendWrapped(std::string &page, size_t indent,
                          const std::string &text) {
  const size_t lastLine = page.rfind('\n');
  size_t column =
      page.size() - (lastLine == std::string::npos ? 0 : lastLine + 1);
  bool isFirst = true;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    const size_t length = end - begin;
    if (!isFirst && column + 1 + length > lineWidth) {
      page += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (!isFirst) {
      page += ' ';
      ++column;
    }
    page.append(text, begin, length);
    column += length;
    isFirst = false;
    begin = end + 1;
  }
}

std::string TextTable::str() const {
  // Compute the column widths; titles do not count.
  std::vector<size_t> widths(alignments.size());
  for (const std::vector<std::string> &row : rows)
    for (size_t i = 0; i < row.size() && row.size() > 1; ++i)
      widths[i] = std::max(widths[i], row[i].size());
  // Format the rows. Only the last column may wrap.
  std::string page;
  for (const std::vector<std::string> &row : rows) {
    if (row.size() == 1) {
      page += " " + row.front() + "\n";
      continue;
    }
    std::string line = " ";
    for (size_t i = 0; i < row.size(); ++i) {
      line += i ? "  " : " ";
      const std::string gap(widths[i] - row[i].size(), ' ');
      const bool isLast = i + 1 == alignments.size();
      if (alignments[i] == 'r')
        line += gap + row[i];
      else if (isLast)
        appendWrapped(line, line.size(), row[i]);
      else
        line += row[i] + gap;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    page += line + "\n";
  }
  return page;
}

std::string tools::describeFailure(const Explanation &explanation) {
  if (!explanation.failure)
    return {};
  const ExplainedFailure &failure = *explanation.failure;
  std::string text = failure.message;
  for (const ExplainedRemark &remark : explanation.remarks)
    if (remark.kind == "failure") {
      // The error already names the reproducer, so omit it here.
      text = remark.message;
      if (!remark.place.pointer.empty())
        text += " (" + remark.place.file + " " + remark.place.pointer + ")";
    }
  std::string section = "\nWhere the compile stops\n  ";
  appendWrapped(section, 4, text);
  section += "\n";
  if (!failure.pass.empty())
    section += "      pass " + failure.pass +
               (failure.isa.empty() ? "" : " for " + failure.isa) + "\n";
  return section;
}
