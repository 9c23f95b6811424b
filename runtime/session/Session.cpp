// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entries with code run on the executor. Derived entries run as steps on the
// decode engine.
#include "runtime/session/Session.h"
#include "runtime/session/Generate.h"

using namespace transom;

Result<std::unique_ptr<Session>> Session::create(const Model &model,
                                                 const SessionConfig &config) {
  std::unique_ptr<Session> session(new Session(model, config));
  TRANSOM_ASSIGN(SessionLayout layout, SessionLayout::plan(model, config));
  session->layout = std::move(layout);
  TRANSOM_ASSIGN(std::unique_ptr<Executor> executor,
                 Executor::create(model, config, session->layout.executor));
  session->executorPart = std::move(executor);
  if (session->layout.decode)
    session->enginePart = std::make_unique<DecodeEngine>(
        *session->executorPart, *session->layout.decode);
  if (session->enginePart && session->enginePart->hasSources()) {
    TRANSOM_ASSIGN(
        GenerationConfig settings,
        GenerationConfig::parse(model.manifest().decoder->generation));
    session->settingsOfFiles = std::move(settings);
  }
  return session;
}

Result<void> Session::run(const char *name, const transom_tensor *inputs,
                          size_t inputCount, transom_tensor *outputs,
                          size_t outputCount) {
  TRANSOM_ASSIGN(const Entry *entry, findEntry(model(), name));
  TRANSOM_TRY(checkRunnable(*entry));
  TRANSOM_TRY(takeCancel());
  if (entry->kind() == EntryKind::Generate)
    return runGenerate(*this, *entry, inputs, inputCount, outputs, outputCount);
  if (entry->isDerived())
    return runDerivedEntry(*this, *entry, inputs, inputCount, outputs,
                           outputCount);
  return executorPart->run(*entry, inputs, inputCount, outputs, outputCount);
}

Result<void> Session::shape(const char *name, const transom_tensor *inputs,
                            size_t inputCount, const char *result,
                            transom_tensor &out) const {
  TRANSOM_ASSIGN(const Entry *entry, findEntry(model(), name));
  TRANSOM_TRY(checkRunnable(*entry));
  if (entry->kind() == EntryKind::Generate)
    return shapeGenerate(*this, *entry, inputs, inputCount, result, out);
  return Executor::shape(*entry, inputs, inputCount, result, out);
}
