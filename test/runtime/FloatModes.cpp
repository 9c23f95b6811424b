// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An application that calls the C API functions in its own floating-point
// modes: all rounding modes, denormals that are zero, other x87 precisions,
// exceptions that trap. Results have the default mode's bits, and the
// application's mode and exception flags are unchanged, also in its callbacks.
// Prints the functions that it has called. Usage: runtime-float-modes MODEL
#include "test/runtime/FloatModeCalls.h"
#include <unistd.h>

using namespace transom::test;

void Calls::open() {
  call("transom_model_load", [&] {
    transom_model_free(model);
    return transom_model_load(path, nullptr, &model);
  });
  call("transom_model_get_info",
       [&] { return transom_model_get_info(model, &info); });
  uint64_t memory = 0;
  call("transom_model_memory",
       [&] { return transom_model_memory(model, &options, &memory); });
  call("transom_session_create", [&] {
    transom_session_free(session);
    return transom_session_create(model, &options, &session);
  });
  bytes.append(info.manifest, info.manifest_size);
  add(bytes, &memory, 1);
}

static int64_t inputIds[2 * 9];

void Calls::callTensors() {
  for (size_t i = 0; i != 18; ++i)
    inputIds[i] = int64_t(3 + i * 7 % 20);
  transom_entry_info entry = transom_entry_info_default();
  for (size_t index = 0; index != info.num_entries; ++index) {
    transom_model_get_entry(model, index, &entry);
    const std::string kind = entry.kind;
    if (kind != "encode" && kind != "embed" && kind != "logits" &&
        kind != "score")
      continue;
    transom_tensor inputs[2] = {};
    const char *second = "decoder_input_ids";
    transom_argument_info argument = transom_argument_info_default();
    size_t numInputs = 1;
    for (size_t i = 0; i != entry.num_inputs; ++i) {
      transom_model_get_argument(model, entry.name, i, &argument);
      for (const char *target : {"decoder_input_ids", "labels"})
        if (std::strcmp(argument.name, target) == 0) {
          second = target;
          numInputs = 2;
        }
    }
    for (size_t i = 0; i != numInputs; ++i) {
      inputs[i].name = i == 0 ? "input_ids" : second;
      inputs[i].dtype = TRANSOM_DTYPE_I64;
      inputs[i].rank = 2;
      inputs[i].shape[0] = 2;
      inputs[i].shape[1] = 9;
      inputs[i].data = inputIds;
      inputs[i].capacity = sizeof inputIds;
    }
    transom_model_get_argument(model, entry.name, entry.num_inputs, &argument);
    transom_tensor output = {};
    const std::string name = argument.name;
    transom_session_options fitted = options;
    call("transom_session_options_fit", [&] {
      return transom_session_options_fit(model, entry.name, inputs, numInputs,
                                         &fitted);
    });
    add(bytes, &fitted.max_tokens, 1);
    if (!call("transom_session_shape", [&] {
          return transom_session_shape(session, entry.name, inputs, numInputs,
                                       name.c_str(), &output);
        }))
      continue;
    std::vector<char> data(output.capacity);
    output.data = data.data();
    output.name = name.c_str();
    // For entries with several results, only the first is requested.
    if (call("transom_session_run", [&] {
          return transom_session_run(session, entry.name, inputs, numInputs,
                                     &output, 1);
        }))
      add(bytes, data);
  }
}

static int takeToken(void *, const transom_generated_token *) {
  checkCallback("the callback of tokens");
  return 0;
}

void Calls::addGeneration(transom_generation *generation) {
  for (size_t i = 0; i != transom_generation_count(generation); ++i) {
    transom_continuation one = transom_continuation_default();
    call("transom_generation_get",
         [&] { return transom_generation_get(generation, i, &one); });
    add(bytes, one.ids, one.num_ids);
    if (one.logprobs)
      add(bytes, one.logprobs, one.num_ids);
    for (size_t k = 0; k != one.num_ids * one.num_top; ++k)
      add(bytes, &one.top[k].logprob, 1);
    add(bytes, &one.score, 1);
  }
  std::vector<char> room(1 << 16);
  for (auto [name, get] :
       {std::pair("transom_generation_output_ids",
                  &transom_generation_output_ids),
        {"transom_generation_scores", &transom_generation_scores}}) {
    transom_tensor tensor = {};
    tensor.data = room.data();
    tensor.capacity = room.size();
    std::fill(room.begin(), room.end(), 0);
    const bool isMade = inMode(name, [&, get = get] {
                          return get(generation, &tensor);
                        }) == TRANSOM_STATUS_OK;
    if (!isMade)
      continue; // only beams have scores
    called.insert(name);
    add(bytes, room);
  }
}

void Calls::generate(int64_t beams, int32_t sample) {
  std::vector<int64_t> ids = {5, 6, 7, 8, 9};
  const transom_prompt prompts[] = {{ids.data(), 5, {}}, {ids.data(), 2, {}}};
  transom_generate_options how = transom_generate_options_default();
  how.max_new_tokens = 6;
  how.num_beams = beams;
  how.num_return_sequences = beams;
  how.renormalize_logits = beams > 1;
  how.top_logprobs = beams > 1 ? -1 : 3;
  how.sample = sample;
  how.temperature = sample ? 0.7 : double(TRANSOM_FROM_MODEL);
  how.top_p = sample ? 0.9 : double(TRANSOM_FROM_MODEL);
  how.repetition_penalty = 1.1;
  how.length_penalty = beams > 1 ? 0.7 : double(TRANSOM_FROM_MODEL);
  how.callback = takeToken;
  const size_t lengths[] = {5, 2};
  transom_session_options fitted = options;
  if (call("transom_session_options_fit_generate", [&] {
        return transom_session_options_fit_generate(model, lengths, 2, &how,
                                                    &fitted);
      }))
    add(bytes, &fitted.max_kv_tokens, 1);
  transom_generation *generation = nullptr;
  auto again = [&] {
    transom_generation_free(generation);
    generation = nullptr;
  };
  if (call("transom_session_generate", [&] {
        again();
        return transom_session_generate(session, prompts, 2, &how, &generation);
      }))
    addGeneration(generation);
  transom_tensor input = {};
  input.name = "input_ids";
  input.dtype = TRANSOM_DTYPE_I64;
  input.rank = 2;
  input.shape[0] = 2;
  input.shape[1] = 9;
  input.data = inputIds;
  input.capacity = sizeof inputIds;
  if (call("transom_session_generate_tensors", [&] {
        again();
        return transom_session_generate_tensors(session, &input, 1, &how,
                                                &generation);
      }))
    addGeneration(generation);
  again();
}

void Calls::callDecoder() {
  transom_decoder_info decoder = transom_decoder_info_default();
  if (!call("transom_session_get_decoder",
            [&] { return transom_session_get_decoder(session, &decoder); }))
    return;
  for (int64_t beams : {1, 3})
    generate(beams, 0);
  generate(1, 1);
  std::vector<double> scores(8);
  std::vector<transom_token_logprob> top(8 * 2);
  if (call("transom_session_score", [&] {
        return transom_session_score(session, inputIds, 9, scores.data(),
                                     top.data(), 2);
      })) {
    add(bytes, scores);
    for (const transom_token_logprob &one : top)
      add(bytes, &one.logprob, 1);
  }
  transom_text_score whole = {};
  if (call("transom_session_score_windows", [&] {
        return transom_session_score_windows(session, inputIds, 9, 4, 2,
                                             &whole);
      }))
    add(bytes, &whole.sum, 1);
  int32_t sequence = -1;
  if (decoder.max_source == 0 && call("transom_sequence_create", [&] {
        transom_sequence_free(session, sequence);
        return transom_sequence_create(session, &sequence);
      })) {
    std::vector<float> logits(size_t(3 * decoder.width));
    const transom_step_input step = {sequence, inputIds, 3, 3};
    call("transom_session_step", [&] {
      transom_sequence_rewind(session, sequence, 0);
      return transom_session_step(session, &step, 1, logits.data(),
                                  logits.size() * sizeof(float));
    });
    add(bytes, logits);
    const std::string file = std::string(path) + ".sequence";
    int32_t copy = -1, loaded = -1;
    int64_t length = 0;
    call("transom_sequence_copy", [&] {
      transom_sequence_free(session, copy);
      return transom_sequence_copy(session, sequence, &copy);
    });
    call("transom_sequence_rewind",
         [&] { return transom_sequence_rewind(session, copy, 1); });
    call("transom_sequence_length",
         [&] { return transom_sequence_length(session, copy, &length); });
    call("transom_sequence_save", [&] {
      return transom_sequence_save(session, sequence, file.c_str());
    });
    call("transom_sequence_load", [&] {
      transom_sequence_free(session, loaded);
      return transom_sequence_load(session, file.c_str(), &loaded);
    });
    unlink(file.c_str());
    add(bytes, &length, 1);
  }
}

void Calls::callSources() {
  std::vector<int64_t> ids = {5, 6, 7, 8, 9};
  const transom_prompt sources[] = {{ids.data(), 5, {}}, {ids.data(), 2, {}}};
  const transom_prompt targets[] = {{ids.data(), 4, {}}, {ids.data(), 3, {}}};
  double logprobs[7], sums[2];
  size_t counts[2];
  if (call("transom_session_score_targets", [&] {
        return transom_session_score_targets(session, sources, targets, 2,
                                             logprobs, sizeof logprobs, counts,
                                             sums);
      })) {
    add(bytes, logprobs, 7);
    add(bytes, sums, 2);
  }
  int32_t sequences[2] = {-1, -1};
  auto free = [&] {
    for (int32_t sequence : sequences)
      transom_sequence_free(session, sequence);
  };
  if (!call("transom_session_add_sources", [&] {
        free();
        return transom_session_add_sources(session, sources, 2, sequences);
      }))
    return;
  transom_decoder_info decoder = transom_decoder_info_default();
  transom_session_get_decoder(session, &decoder);
  std::vector<float> logits(size_t(2 * decoder.width));
  const int64_t start = 4;
  const transom_step_input steps[] = {{sequences[0], &start, 1, 1},
                                      {sequences[1], &start, 1, 1}};
  call("transom_session_step", [&] {
    for (int32_t sequence : sequences)
      transom_sequence_rewind(session, sequence, 0);
    return transom_session_step(session, steps, 2, logits.data(),
                                logits.size() * sizeof(float));
  });
  add(bytes, logits);
  free();
}

int main(int argc, char **argv) {
  if (argc != 2)
    fail("usage: runtime-float-modes MODEL");
  for (bool usesPool : {false, true}) {
    hostState = getState();
    const std::string expected = Calls(argv[1], usesPool).run();
    for (const FloatState &state : makeStates()) {
      hostState = state;
      const std::string found = Calls(argv[1], usesPool).run();
      if (found == expected)
        continue;
      char text[80];
      std::snprintf(text, sizeof text,
                    "other bits in the mode %#llx, with%s pool",
                    static_cast<unsigned long long>(state.control),
                    usesPool ? "" : "out");
      fail(text);
    }
  }
  if (callbacks == 0)
    fail("no callback was called");
  for (const std::string &name : Calls::called)
    std::printf("%s\n", name.c_str());
  return 0;
}
