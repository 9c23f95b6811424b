// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// transom run: any entry point on the tensors of a safetensors file.
#include "runtime/support/Json.h"
#include "tools/commands/Command.h"
#include "tools/commands/Tensors.h"

using namespace transom;
using namespace transom::tools;

namespace {
struct RunFlags {
  std::string model, entry, in, out;
};
} // namespace

/// Names, types and shapes of the results.
static std::string jsonOf(const std::vector<transom_tensor> &tensors) {
  std::string line;
  JsonWriter json(line);
  json.beginArray();
  for (const transom_tensor &tensor : tensors) {
    json.beginObject();
    json.member("name", tensor.name);
    json.member("dtype", transom_dtype_name(tensor.dtype));
    json.key("shape");
    json.array(std::vector<int64_t>(tensor.shape, tensor.shape + tensor.rank));
    json.endObject();
  }
  json.endArray();
  return line + "\n";
}

static Result<void> runEntry(const RunFlags &flags, const CommonFlags &common) {
  Result<ModelPtr> model = loadModel(flags.model);
  if (!model)
    return model.takeError();
  if (Result<void> known = checkEntry(model->get(), flags.entry); !known)
    return known;
  Result<InputTensors> inputs = InputTensors::read(flags.in);
  if (!inputs)
    return inputs.takeError();
  Result<SessionPtr> session =
      sessionFor(model->get(), flags.entry, inputs->tensors(), common.threads);
  if (!session)
    return session.takeError();
  OutputTensors outputs;
  if (Result<void> ready = outputs.allocate(model->get(), session->get(),
                                            flags.entry, inputs->tensors());
      !ready)
    return ready;
  if (Result<void> ran = check(
          transom_run(session->get(), flags.entry.c_str(),
                      inputs->tensors().data(), inputs->tensors().size(),
                      outputs.tensors().data(), outputs.tensors().size()));
      !ran)
    return ran;
  if (Result<void> written = outputs.write(flags.out); !written)
    return written;
  return common.json ? writeOut(jsonOf(outputs.tensors())) : Result<void>();
}

void tools::addRun(CLI::App &app, CommandList &commands) {
  Command &command =
      addCommand(app, commands, "run", "run an entry point on tensors");
  auto flags = std::make_shared<RunFlags>();
  command.app->add_option("MODEL", flags->model, "a compiled model")
      ->required();
  command.app->add_option("ENTRY", flags->entry, "the entry point")->required();
  command.app
      ->add_option("--in", flags->in,
                   "safetensors file with the entry's arguments by name")
      ->type_name("FILE")
      ->required();
  command.app
      ->add_option("--out", flags->out, "safetensors file for the results")
      ->type_name("FILE")
      ->required();
  command.run = [flags](const CommonFlags &common) {
    return runEntry(*flags, common);
  };
}
