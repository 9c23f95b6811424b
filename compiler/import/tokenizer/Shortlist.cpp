// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pairs from both formats form one list, sorted by source token, which retains
// the best target tokens for each source token.
#include "compiler/import/tokenizer/Shortlist.h"
#include "runtime/base/File.h"
#include "runtime/base/Utf8.h"
#include "runtime/tokenizer/Tokenizer.h"
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <vector>

namespace transom {

using namespace tokenizer;

namespace {

/// The first eight bytes of Marian's binary format; no text file starts with
/// them.
constexpr uint64_t binaryMagic = 0xF11A48D5013417F5;

/// Header of Marian's binary format. It is followed by 64-bit list offsets for
/// all source ids and the end, then the lists with 32-bit ids.
struct BinaryHeader {
  uint64_t magic, checksum, first, best, numOffsets, numTargets;
};

struct Pair {
  uint32_t source, target;
  float probability;
};

/// Reads one file.
class ShortlistReader {
public:
  ShortlistReader(const ShortlistOptions &options, const ModelVocabulary &model,
                  const Tokenizer &tokenizer)
      : options(options), model(model), source(tokenizer),
        target(tokenizer.getTarget()) {}

  Result<void> read();
  /// Returns the table section.
  std::string makeSection();

private:
  Result<void> readBinary(std::string_view bytes);
  Result<void> readText(std::string_view bytes);
  Result<void> readLine(std::string_view line, size_t number);
  bool sharesVocabulary() const;
  /// Retains the best target tokens for each source token.
  void prune();

  const ShortlistOptions &options;
  const ModelVocabulary &model;
  const Tokenizer &source, &target;
  uint64_t first = 0;
  std::vector<Pair> pairs;
  size_t lines = 0;
};

} // namespace

/// Returns the next word in a line, empty at its end.
static std::string_view takeWord(std::string_view &line) {
  constexpr std::string_view spaces = " \t\r";
  const size_t begin = std::min(line.find_first_not_of(spaces), line.size());
  const size_t end = std::min(line.find_first_of(spaces, begin), line.size());
  const std::string_view word = line.substr(begin, end - begin);
  line.remove_prefix(end);
  return word;
}

/// Returns a token's id, or nullopt if the model does not have it.
static std::optional<uint32_t> findToken(const Tokenizer &tokenizer,
                                         std::string_view word, int64_t limit) {
  const std::optional<int64_t> id = tokenizer.getId(word);
  if (!id || *id < 0 || *id >= std::min<int64_t>(limit, idLimit))
    return std::nullopt;
  return uint32_t(*id);
}

Result<void> ShortlistReader::readLine(std::string_view line, size_t number) {
  std::string_view rest = line;
  const std::string_view targetWord = takeWord(rest);
  const std::string_view sourceWord = takeWord(rest);
  const std::string_view digits = takeWord(rest);
  if (targetWord.empty())
    return {};
  float probability = 0;
  const auto [end, problem] = std::from_chars(
      digits.data(), digits.data() + digits.size(), probability);
  if (digits.empty() || !takeWord(rest).empty() || problem != std::errc() ||
      end != digits.data() + digits.size() || !(probability >= 0) ||
      !std::isfinite(probability))
    return rejected(options.file + ":" + std::to_string(number) +
                    ": expected 'target source probability', got '" +
                    utf8::printable(line, 80) + "'");
  ++lines;
  if (targetWord == "NULL" || sourceWord == "NULL")
    return {};
  const auto from = findToken(source, sourceWord, model.source);
  const auto to = findToken(target, targetWord, model.target);
  if (from && to)
    pairs.push_back({*from, *to, probability});
  return {};
}

Result<void> ShortlistReader::readText(std::string_view bytes) {
  first = uint64_t(options.first);
  for (size_t number = 1; !bytes.empty(); ++number) {
    const size_t end = std::min(bytes.find('\n'), bytes.size());
    TRANSOM_TRY(readLine(bytes.substr(0, end), number));
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
  }
  if (pairs.empty())
    return rejected(options.file + ": none of its " + std::to_string(lines) +
                    " lines has two tokens of the model's vocabulary; expected "
                    "lines 'target source probability'");
  prune();
  return {};
}

void ShortlistReader::prune() {
  std::sort(pairs.begin(), pairs.end(), [](const Pair &a, const Pair &b) {
    if (a.source != b.source)
      return a.source < b.source;
    if (a.probability != b.probability)
      return a.probability > b.probability;
    return a.target < b.target;
  });
  size_t kept = 0;
  int64_t ofSource = 0;
  for (size_t i = 0; i != pairs.size(); ++i) {
    if (i == 0 || pairs[i].source != pairs[i - 1].source)
      ofSource = 0;
    if (ofSource++ < options.best)
      pairs[kept++] = pairs[i];
  }
  pairs.resize(kept);
}

Result<void> ShortlistReader::readBinary(std::string_view bytes) {
  auto malformed = [&](const std::string &what) {
    return rejected(options.file + ": " + what);
  };
  // Read the header and check it against the file size.
  BinaryHeader header;
  if (bytes.size() < sizeof header)
    return malformed("cut short: " + std::to_string(bytes.size()) +
                     " bytes, a binary shortlist has a header of " +
                     std::to_string(sizeof header));
  std::memcpy(&header, bytes.data(), sizeof header);
  bytes.remove_prefix(sizeof header);
  const uint64_t room = bytes.size();
  if (header.numOffsets == 0 || header.numOffsets > room / 8 ||
      header.numTargets > room / 4 ||
      header.numOffsets * 8 + header.numTargets * 4 != room)
    return malformed("its header says " + std::to_string(header.numOffsets) +
                     " offsets of 8 bytes and " +
                     std::to_string(header.numTargets) + " ids of 4, but " +
                     std::to_string(room) + " bytes follow it");
  // The file may have fewer source ids than the model.
  if (header.numOffsets - 1 > uint64_t(model.source))
    return malformed("it is for " + std::to_string(header.numOffsets - 1) +
                     " source ids, the model has " +
                     std::to_string(model.source));
  const ArrayView<uint64_t> offsets(bytes.substr(0, header.numOffsets * 8));
  const ArrayView<uint32_t> targets(bytes.substr(header.numOffsets * 8));
  // Read the target ids for each source id.
  first = header.first;
  for (size_t id = 0; id + 1 < offsets.size(); ++id) {
    if (offsets[id] > offsets[id + 1] || offsets[id + 1] > targets.size())
      return malformed("the list of source id " + std::to_string(id) +
                       " is from " + std::to_string(offsets[id]) + " to " +
                       std::to_string(offsets[id + 1]) + " of " +
                       std::to_string(targets.size()) + " ids");
    for (uint64_t i = offsets[id]; i != offsets[id + 1]; ++i) {
      if (int64_t(targets[i]) >= model.target)
        return malformed("target id " + std::to_string(targets[i]) +
                         " of source id " + std::to_string(id) +
                         " is not one of the model's " +
                         std::to_string(model.target));
      pairs.push_back({uint32_t(id), targets[i], 0});
    }
  }
  return {};
}

Result<void> ShortlistReader::read() {
  TRANSOM_ASSIGN(MappedFile file, MappedFile::open(options.file));
  const std::string_view bytes = file.bytes();
  uint64_t magic = 0;
  if (bytes.size() >= sizeof magic)
    std::memcpy(&magic, bytes.data(), sizeof magic);
  return magic == binaryMagic ? readBinary(bytes) : readText(bytes);
}

/// Returns whether source and target ids are the same.
bool ShortlistReader::sharesVocabulary() const {
  if (&source == &target)
    return true;
  if (source.idEnd() != target.idEnd())
    return false;
  for (size_t id = 0; id != source.idEnd(); ++id)
    if (source.token(int64_t(id)) != target.token(int64_t(id)))
      return false;
  return true;
}

std::string ShortlistReader::makeSection() {
  ShortlistHeader header{};
  header.first = uint32_t(std::min<uint64_t>(first, idLimit));
  header.copiesSource = sharesVocabulary();
  header.numSources = pairs.empty() ? 0 : pairs.back().source + 1;
  std::vector<uint32_t> numbers(header.numSources + size_t(1));
  for (const Pair &pair : pairs)
    ++numbers[pair.source + size_t(1)];
  for (size_t i = 1; i < numbers.size(); ++i)
    numbers[i] += numbers[i - 1];
  for (const Pair &pair : pairs)
    numbers.push_back(pair.target);
  std::string section(reinterpret_cast<const char *>(&header), sizeof header);
  section.append(reinterpret_cast<const char *>(numbers.data()),
                 numbers.size() * sizeof(uint32_t));
  return section;
}

Result<void> addShortlist(const ShortlistOptions &options,
                          const ModelVocabulary &model, std::string &tables) {
  TRANSOM_ASSIGN(Tokenizer tokenizer, Tokenizer::open(tables));
  ShortlistReader reader(options, model, tokenizer);
  TRANSOM_TRY(reader.read());
  const std::string section = reader.makeSection();
  // Append the section, and update header and directory.
  TablesHeader header;
  std::memcpy(&header, tables.data(), sizeof header);
  SectionEntry entry{tables.size(), section.size()};
  tables += section;
  tables.resize((tables.size() + 7) / 8 * 8);
  if (tables.size() > UINT32_MAX)
    return limitError(options.file + ": tokenizer tables with it have " +
                      std::to_string(tables.size()) +
                      " bytes; supported: less than 4 GiB");
  header.size = tables.size();
  std::memcpy(tables.data(), &header, sizeof header);
  std::memcpy(tables.data() + sizeof header +
                  size_t(Section::Shortlist) * sizeof entry,
              &entry, sizeof entry);
  return {};
}

} // namespace transom
