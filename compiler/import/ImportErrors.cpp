// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Errors for tensors that a model's files lack or store in another shape: the
// nearest existing name, and the keys that determine the shape.
#include "compiler/import/ImportErrors.h"
#include "compiler/import/Emitter.h"
#include "runtime/base/File.h"
#include "runtime/base/Suggest.h"

using namespace mlir;
using namespace transom;

static std::string inParentheses(const std::string &sizes) {
  return sizes.empty() ? "" : " (" + sizes + ")";
}

/// Returns the numeric components of a name: `2` in `layers.2.up.weight`.
static std::vector<std::string> getNumbers(StringRef name) {
  std::vector<std::string> numbers;
  for (StringRef word : llvm::split(name, '.'))
    if (!word.empty() && llvm::all_of(word, llvm::isDigit))
      numbers.push_back(word.str());
  return numbers;
}

/// Returns a tensor's layer, if the files have other layers and no tensor in
/// this one.
static std::optional<int64_t> getMissingLayer(StringRef name,
                                              ArrayRef<std::string> present) {
  const std::vector<std::string> numbers = getNumbers(name);
  if (numbers.empty())
    return std::nullopt;
  const size_t end = name.find("." + numbers[0] + ".");
  if (end == StringRef::npos)
    return std::nullopt;
  const StringRef layers = name.take_front(end + 1);
  const std::string layer = layers.str() + numbers[0] + ".";
  bool hasOthers = false;
  for (StringRef other : present) {
    if (other.starts_with(layer))
      return std::nullopt;
    hasOthers |= other.starts_with(layers);
  }
  int64_t number = 0;
  if (!hasOthers || StringRef(numbers[0]).getAsInteger(10, number))
    return std::nullopt;
  return number;
}

Error Emitter::getMissing(const std::string &file,
                          const std::optional<std::vector<int64_t>> &shape,
                          const std::string &sizes) const {
  const std::string first =
      files.fileNames().empty()
          ? files.folder()
          : joinPath(files.folder(), files.fileNames().front());
  std::string text = (errorPrefix.empty() ? first + ": " : errorPrefix) +
                     "tensor '" + file + "' is missing" +
                     (shape ? ", expected with shape " + shapeText(*shape) +
                                  inParentheses(sizes)
                            : "") +
                     files.describeStale(file);
  const std::vector<std::string> names = files.names();
  TensorProblem problem;
  problem.missingLayer = getMissingLayer(file, names);
  if (problem.missingLayer)
    return rejected(text + "; the files have no tensor of this layer" +
                    (tensorHelp ? tensorHelp(problem) : ""));

  // A name in another layer is never the intended one.
  std::vector<std::string> candidates;
  for (const std::string &name : names)
    if (getNumbers(name) == getNumbers(file))
      candidates.push_back(name);
  return rejected(text + suggest(file, candidates));
}

Error Emitter::getMisshapen(const std::string &file,
                            const std::vector<int64_t> &found,
                            const std::vector<int64_t> &expected,
                            const std::string &sizes) const {
  TensorProblem problem;
  SmallVector<StringRef> words;
  StringRef(sizes).split(words, " x ");
  words.resize(expected.size() == words.size() ? words.size() : 0);
  for (size_t i = 0; i < expected.size(); ++i)
    if (i >= found.size() || found[i] != expected[i])
      problem.sizes.push_back(
          {expected[i], words.empty() ? "" : words[i].str()});
  return rejected(errorPrefix + files.getFile(file) + ": tensor '" +
                  files.getStoredName(file) + "' has shape " +
                  shapeText(found) + ", expected " + shapeText(expected) +
                  inParentheses(sizes) +
                  (tensorHelp ? tensorHelp(problem) : ""));
}

int64_t transom::getNearestDivisor(int64_t number, int64_t of) {
  constexpr int64_t largest = 1 << 16; // models have far fewer heads
  int64_t nearest = 1;
  for (int64_t divisor = 1; divisor <= std::min({of, 2 * number, largest});
       ++divisor)
    if (of % divisor == 0 &&
        std::abs(divisor - number) <= std::abs(nearest - number))
      nearest = divisor;
  return nearest;
}
