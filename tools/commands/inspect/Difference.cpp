// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares facts with equal sections and names.
#include "tools/commands/inspect/Difference.h"
#include "runtime/base/Utf8.h"
#include "tools/commands/explain/ExplainFormat.h"
#include <algorithm>
#include <map>

using namespace transom;
using namespace transom::tools;

/// Changes per section that are shown without `-v`.
static constexpr size_t numShown = 8;
/// Displayed characters of a value.
static constexpr size_t valueWidth = 36;

namespace {

/// The facts of one model by section and name.
class FactIndex {
public:
  explicit FactIndex(const ComparedModel &model) {
    for (const Fact &fact : model.facts) {
      index.emplace(std::make_pair(fact.section, fact.name), &fact);
      sections.emplace(fact.section, true);
    }
  }
  const Fact *find(const Fact &fact) const {
    auto known = index.find({fact.section, fact.name});
    return known == index.end() ? nullptr : known->second;
  }
  bool hasSection(const std::string &section) const {
    return sections.count(section) > 0;
  }

private:
  std::map<std::pair<std::string, std::string>, const Fact *> index;
  std::map<std::string, bool> sections;
};

} // namespace

static ChangedSection &getSection(Difference &difference,
                                  const std::string &name) {
  auto known =
      std::find_if(difference.sections.begin(), difference.sections.end(),
                   [&](const ChangedSection &s) { return s.name == name; });
  if (known == difference.sections.end())
    known = difference.sections.insert(known, {name, {}});
  return *known;
}

/// Returns true for sections that models and artifacts report in the same way.
static bool isShared(const Fact &fact) {
  static const char *const shared[] = {"parameters", "operations", "memory",
                                       "entries", "files"};
  return std::any_of(std::begin(shared), std::end(shared),
                     [&](const char *name) { return fact.section == name; });
}

Difference tools::compare(const ComparedModel &left,
                          const ComparedModel &right) {
  Difference difference{left.path, right.path, {}};
  const bool areMixed = left.isArtifact != right.isArtifact;
  const FactIndex ofLeft(left), ofRight(right);
  // A fact on one side only counts if the other side has the section.
  auto add = [&](const Fact &fact, const FactIndex &others, bool isLeft) {
    if (!others.hasSection(fact.section) || (areMixed && !isShared(fact)))
      return;
    Change change{fact.name, {}, {}};
    (isLeft ? change.left : change.right) = fact;
    getSection(difference, fact.section).changes.push_back(std::move(change));
  };
  for (const Fact &fact : left.facts) {
    const Fact *other = ofRight.find(fact);
    if (!other)
      add(fact, ofRight, true);
    else if (other->value != fact.value)
      getSection(difference, fact.section)
          .changes.push_back({fact.name, fact, *other});
  }
  for (const Fact &fact : right.facts)
    if (!ofLeft.find(fact))
      add(fact, ofLeft, false);
  return difference;
}

//===----------------------------------------------------------------------===//
// Text and JSON
//===----------------------------------------------------------------------===//

static std::string shorten(const std::optional<Fact> &fact) {
  if (!fact)
    return "-";
  // Keep a weight's type, and a hash prefix that distinguishes two weights.
  std::string value = fact->value;
  if (const size_t hash = value.find("sha256 "); hash != std::string::npos)
    value = value.substr(0, hash + 15);
  return utf8::printable(value, valueWidth);
}

static std::string getRatio(const Change &change) {
  if (!change.left || !change.right || !change.left->number ||
      !change.right->number || *change.left->number <= 0)
    return "";
  char text[32];
  snprintf(text, sizeof text, "x %.3g",
           static_cast<double>(*change.right->number) /
               static_cast<double>(*change.left->number));
  return text;
}

std::string Difference::getText(bool all) const {
  if (isEmpty())
    return "no differences\n";
  std::string text = "differences in";
  for (const ChangedSection &section : sections)
    text += (&section == &sections.front() ? " " : ", ") + section.name + " (" +
            std::to_string(section.changes.size()) + ")";
  text += "\n  left   " + left + "\n  right  " + right + "\n";
  for (const ChangedSection &section : sections) {
    text += "\n" + section.name + "\n";
    TextTable table("lrrr");
    table.add({"", "left", "right", ""});
    const size_t shown = all ? section.changes.size() : numShown;
    for (size_t i = 0; i < std::min(shown, section.changes.size()); ++i) {
      const Change &change = section.changes[i];
      table.add({utf8::printable(change.name, 60), shorten(change.left),
                 shorten(change.right), getRatio(change)});
    }
    text += table.str();
    if (section.changes.size() > shown)
      text += "  " + std::to_string(section.changes.size() - shown) +
              " more; '-v' shows all\n";
  }
  return text;
}

static void writeFact(JsonWriter &json, const char *key,
                      const std::optional<Fact> &fact) {
  json.key(key);
  if (!fact)
    json.null();
  else if (fact->number)
    json.value(*fact->number);
  else
    json.value(fact->value);
}

std::string Difference::toJson() const {
  std::string text;
  // Paths and verdict.
  JsonWriter json(text, 2);
  json.beginObject();
  json.member("left", left);
  json.member("right", right);
  json.member("equal", isEmpty());
  // Changes by section.
  json.key("sections");
  json.beginArray();
  for (const ChangedSection &section : sections) {
    json.beginObject();
    json.member("name", section.name);
    json.key("changes");
    json.beginArray();
    for (const Change &change : section.changes) {
      json.beginObject();
      json.member("name", change.name);
      writeFact(json, "left", change.left);
      writeFact(json, "right", change.right);
      json.endObject();
    }
    json.endArray();
    json.endObject();
  }
  json.endArray();
  json.endObject();
  return text + "\n";
}
