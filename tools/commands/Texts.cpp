// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Texts of the commands: from flags, files and stdin.
#include "tools/commands/Texts.h"
#include "runtime/base/File.h"
#include <cerrno>
#include <cstdio>
#include <cstdlib>

using namespace transom;
using namespace transom::tools;

void tools::addTextInput(CLI::App &command, TextInput &input) {
  command.add_option("--text", input.texts, "a text (repeatable)")
      ->type_name("T")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command.add_option("--file", input.file, "texts, one a line; - is stdin")
      ->type_name("F");
  command.add_option("INPUT", input.dash, "-: texts from stdin, one a line");
}

Error tools::inText(size_t text, Error error) {
  const std::string any = "the text", name = "text " + std::to_string(text);
  if (error.message.compare(0, any.size(), any) == 0)
    error.message.replace(0, any.size(), name);
  else
    error.message = name + ": " + error.message;
  return error;
}

Error tools::inText(const TextInput &input, size_t text, Error error) {
  const std::string name = input.file.empty() ? input.dash : input.file;
  if (input.texts.empty())
    error.message = (name == "-" ? "stdin" : name) + ":" +
                    std::to_string(text + 1) + ": " + error.message;
  else if (input.texts.size() > 1)
    return inText(text, std::move(error));
  return error;
}

std::vector<transom_text>
tools::viewsOf(const std::vector<std::string> &texts) {
  std::vector<transom_text> views;
  for (const std::string &text : texts)
    views.push_back({text.data(), text.size()});
  return views;
}

Result<TextModel> tools::openTextModel(const std::string &path) {
  TRANSOM_ASSIGN(ModelPtr model, loadModel(path));
  TRANSOM_ASSIGN(transom_model_info info, infoOf(model.get()));
  if (info.vocabulary_size == 0)
    return unsupported("'" + path + "' has no tokenizer");
  return TextModel{std::move(model), info};
}

Result<SessionPtr> tools::textSession(const transom_model *model,
                                      unsigned threads) {
  transom_session_options options = transom_session_options_default();
  options.threads = threads;
  options.max_batch = 32;
  return createSession(model, options);
}

void CutTexts::tell(const CommonFlags &common, size_t most) const {
  if (count > 0)
    note(common, std::to_string(count) +
                     (count == 1 ? " text was" : " texts were") +
                     " cut to the model's " + std::to_string(most) + " tokens");
}

Result<void> TextInput::validate() const {
  int sources = !texts.empty() + !file.empty() + !dash.empty();
  if (sources > 1)
    return usageError("'--text', '--file' and '-' exclude each other");
  if (sources == 0)
    return usageError("no text was given: use --text, --file or -");
  if (!dash.empty() && dash != "-")
    return usageError("unexpected argument '" + dash +
                      "'; texts are given by --text, --file or -");
  return {};
}

namespace {

/// Lines of a file or of stdin.
class LineReader {
public:
  ~LineReader() {
    free(buffer);
    if (stream && stream != stdin)
      fclose(stream);
  }

  Result<void> open(const std::string &path) {
    name = path == "-" ? "stdin" : path;
    if (path != "-" && isFolder(path))
      return unavailable("cannot read '" + path + "': is a directory");
    stream = path == "-" ? stdin : fopen(path.c_str(), "rbe");
    return stream ? Result<void>() : systemError("cannot read", path, errno);
  }

  /// The next line; false at the end.
  Result<bool> next(std::string &line) {
    errno = 0;
    ssize_t length = getline(&buffer, &capacity, stream);
    if (length < 0) {
      if (ferror(stream))
        return systemError("cannot read", name, errno);
      return false;
    }
    line.assign(buffer, static_cast<size_t>(length));
    if (!line.empty() && line.back() == '\n')
      line.pop_back();
    if (!line.empty() && line.back() == '\r')
      line.pop_back();
    return true;
  }

private:
  std::string name;
  FILE *stream = nullptr;
  char *buffer = nullptr;
  size_t capacity = 0;
};

} // namespace

Result<void> tools::forEachBatch(
    const TextInput &input, size_t batch,
    const std::function<Result<void>(std::vector<std::string>)> &take) {
  if (!input.texts.empty())
    return take(input.texts);
  LineReader reader;
  if (Result<void> opened =
          reader.open(input.file.empty() ? input.dash : input.file);
      !opened)
    return opened;
  std::vector<std::string> texts;
  std::string line;
  while (true) {
    TRANSOM_ASSIGN(bool more, reader.next(line));
    if (more)
      texts.push_back(std::move(line));
    if (texts.size() == batch || (!more && !texts.empty())) {
      if (Result<void> done = take(std::move(texts)); !done)
        return done;
      texts.clear();
    }
    if (!more)
      return {};
  }
}
