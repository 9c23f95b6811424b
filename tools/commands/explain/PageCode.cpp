// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `Code` in page/code.js reads this format.
#include "tools/commands/explain/PageCode.h"
#include <algorithm>
#include <charconv>

using namespace transom;
using namespace transom::tools;

std::string tools::encodeValues(std::string_view line, int64_t &largest) {
  const bool isQuoted = line.find('"') != std::string_view::npos;
  const int64_t before = largest;
  std::string encoded;
  size_t at = 0;
  for (size_t percent = line.find('%'); percent != std::string_view::npos;
       percent = line.find('%', at)) {
    int64_t number = 0;
    const char *begin = line.data() + percent + 1;
    auto [end, failed] =
        std::from_chars(begin, line.data() + line.size(), number);
    encoded += line.substr(at, percent + 1 - at);
    at = percent + 1;
    if (failed != std::errc() || number < 0)
      continue;
    largest = std::max(largest, number);
    if (isQuoted)
      continue;
    encoded += number > before ? "+" + std::to_string(number - before)
                               : "~" + std::to_string(before - number);
    at += static_cast<size_t>(end - begin);
  }
  return encoded + std::string(line.substr(at));
}

int64_t PageCode::getLine(std::string line) {
  auto [known, isNew] =
      indices.try_emplace(std::move(line), static_cast<int64_t>(lines.size()));
  if (isNew)
    lines.push_back(&known->first);
  return known->second;
}

void PageCode::addItem(const std::vector<std::string_view> &item,
                       Module &module) {
  // Upper bound on the item's size: new lines, and two numbers per run.
  std::vector<std::string> encoded;
  size_t size = 0;
  int64_t largest = -1;
  for (std::string_view line : item) {
    encoded.push_back(encodeValues(line, largest));
    size += indices.count(encoded.back()) ? 0 : encoded.back().size();
  }
  constexpr size_t runSize = 8;
  size += runSize * item.size();
  if (size > left) {
    module.leftOut.emplace_back(item.front());
    return;
  }
  left -= size;
  std::vector<int64_t> &runs = module.items.emplace_back();
  for (std::string &text : encoded) {
    const int64_t line = getLine(std::move(text));
    if (!runs.empty() && runs[runs.size() - 2] + runs.back() == line)
      ++runs.back();
    else
      runs.insert(runs.end(), {line, 1});
  }
}

/// Returns true for the first line in an item: it is indented by two spaces and
/// is neither a closing brace nor a block label.
static bool beginsItem(std::string_view line) {
  return line.size() > 2 && line.substr(0, 2) == "  " && line[2] != ' ' &&
         line[2] != '}' && line[2] != '^';
}

Result<void> PageCode::add(JsonValue code) {
  std::vector<Module> &modules = explanations.emplace_back();
  TRANSOM_TRY(code.expectArray());
  for (JsonValue one : code.elements()) {
    Module &module = modules.emplace_back();
    TRANSOM_ASSIGN(JsonValue isa, one.get("isa"));
    TRANSOM_ASSIGN(module.isa, isa.asString());
    TRANSOM_ASSIGN(JsonValue text, one.get("text"));
    TRANSOM_ASSIGN(std::string_view rest, text.asString());
    std::vector<std::string_view> item;
    while (!rest.empty()) {
      const size_t end = std::min(rest.find('\n'), rest.size());
      const std::string_view line = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      if (beginsItem(line) && !item.empty()) {
        addItem(item, module);
        item.clear();
      }
      // Skip the lines that belong to the module itself.
      if (beginsItem(line) || !item.empty())
        item.push_back(line);
    }
    // The last line closes the module.
    if (item.size() > 1 && item.back() == "}")
      item.pop_back();
    if (!item.empty())
      addItem(item, module);
  }
  return {};
}

void PageCode::write(JsonWriter &json) const {
  json.key("code");
  json.beginArray();
  for (const std::vector<Module> &modules : explanations) {
    json.beginArray();
    for (const Module &module : modules) {
      json.beginObject();
      json.member("isa", module.isa);
      json.key("items");
      json.beginArray();
      for (const std::vector<int64_t> &item : module.items)
        json.array(item);
      json.endArray();
      json.key("left_out");
      json.array(module.leftOut);
      json.endObject();
    }
    json.endArray();
  }
  json.endArray();
  json.key("code_lines");
  json.beginArray();
  for (const std::string *line : lines)
    json.value(*line);
  json.endArray();
}
