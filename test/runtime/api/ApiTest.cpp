// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C API over the hand-written artifact: struct versions, per-thread
// messages, information, and NULLs.
#include "test/runtime/api/FakeModelTest.h"
#include <cstring>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace transom;
using namespace transom::test;

using Api = FakeModelTest;

TEST_F(Api, runs_a_model) {
  transom_session_options options = transom_session_options_default();
  options.threads = 2;
  options.max_batch = 3;
  uint64_t bytes = 0;
  ASSERT_EQ(transom_model_memory(model, &options, &bytes), TRANSOM_STATUS_OK);
  EXPECT_GT(bytes, 0u);
  options.mem_limit = bytes;
  transom_session *session = nullptr;
  ASSERT_EQ(transom_session_create(model, &options, &session),
            TRANSOM_STATUS_OK)
      << transom_last_error();
  EncodeCall call(3, 20);
  call.randomize(1, true);
  transom_tensor shape{};
  ASSERT_EQ(transom_session_shape(session, "encode", call.inputs.data(), 3,
                                  "last_hidden_state", &shape),
            TRANSOM_STATUS_OK);
  EXPECT_EQ(shape.capacity, call.hidden.size() * sizeof(float));
  ASSERT_EQ(transom_session_run(session, "encode", call.inputs.data(), 3,
                                call.outputs.data(), 2),
            TRANSOM_STATUS_OK)
      << transom_last_error();
  call.checkResults();
  transom_session_free(session);
  options.mem_limit = bytes - 1;
  EXPECT_EQ(transom_session_create(model, &options, &session),
            TRANSOM_STATUS_LIMIT);
  EXPECT_EQ(session, nullptr);
}

TEST_F(Api, options_fit_a_run_exactly) {
  transom_session_options options = transom_session_options_default();
  EncodeCall call(3, 20);
  ASSERT_EQ(transom_session_options_fit(model, "encode", call.inputs.data(), 3,
                                        &options),
            TRANSOM_STATUS_OK)
      << transom_last_error();
  EXPECT_EQ(options.max_batch, 3u);
  EXPECT_EQ(options.max_tokens, 60u);
  // Fitting another run keeps the larger batch.
  EncodeCall other(1, 64);
  ASSERT_EQ(transom_session_options_fit(model, "encode", other.inputs.data(), 3,
                                        &options),
            TRANSOM_STATUS_OK);
  EXPECT_EQ(options.max_batch, 3u);
  EXPECT_EQ(options.max_tokens, 64u);
  transom_session *session = nullptr;
  ASSERT_EQ(transom_session_create(model, &options, &session),
            TRANSOM_STATUS_OK);
  // Both runs fit in the session.
  for (EncodeCall *each : {&call, &other}) {
    ASSERT_EQ(transom_session_run(session, "encode", each->inputs.data(), 3,
                                  each->outputs.data(), 2),
              TRANSOM_STATUS_OK)
        << transom_last_error();
    each->checkResults();
  }
  transom_session_free(session);
  // One more token exceeds the model's context.
  EncodeCall longer(1, 65);
  EXPECT_EQ(transom_session_options_fit(model, "encode", longer.inputs.data(),
                                        3, &options),
            TRANSOM_STATUS_LIMIT);
}

TEST_F(Api, tells_what_a_model_is) {
  transom_model_info info = transom_model_info_default();
  ASSERT_EQ(transom_model_get_info(model, &info), TRANSOM_STATUS_OK);
  EXPECT_STREQ(info.family, "bert");
  EXPECT_STREQ(info.isa, "avx2");
  EXPECT_EQ(info.num_entries, 2u);
  EXPECT_EQ(info.num_labels, 0u);
  EXPECT_EQ(info.embedding_size, 0u);
  EXPECT_EQ(std::string(info.manifest, info.manifest_size).front(), '{');
  EXPECT_EQ(transom_model_label(model, 0), nullptr);
  // Entries and arguments, also out of range.
  transom_entry_info entry = transom_entry_info_default();
  ASSERT_EQ(transom_model_get_entry(model, 0, &entry), TRANSOM_STATUS_OK);
  EXPECT_STREQ(entry.name, "encode");
  EXPECT_EQ(entry.num_inputs, 3u);
  EXPECT_EQ(entry.num_dispatches, 5u);
  EXPECT_EQ(transom_model_get_entry(model, 2, &entry), TRANSOM_STATUS_USAGE);
  transom_argument_info argument = transom_argument_info_default();
  ASSERT_EQ(transom_model_get_argument(model, "encode", 3, &argument),
            TRANSOM_STATUS_OK);
  EXPECT_STREQ(argument.name, "last_hidden_state");
  EXPECT_STREQ(argument.dims[1], "seq");
  EXPECT_EQ(argument.rank, 3);
  ASSERT_EQ(transom_model_get_argument(model, "encode", 1, &argument),
            TRANSOM_STATUS_OK);
  EXPECT_EQ(argument.optional, 1u);
  EXPECT_EQ(transom_model_get_argument(model, "encode", 5, &argument),
            TRANSOM_STATUS_USAGE);
}

TEST_F(Api, structs_of_other_versions) {
  transom_session *session = nullptr;
  // Zeroed by hand, without the default function.
  transom_session_options options;
  std::memset(&options, 0, sizeof options);
  EXPECT_EQ(transom_session_create(model, &options, &session),
            TRANSOM_STATUS_USAGE);
  // An older caller has only threads and max_batch.
  struct {
    size_t structSize;
    uint32_t threads, maxBatch;
    char garbage[200];
  } older;
  std::memset(&older, 0xaa, sizeof older);
  older.structSize = sizeof(size_t) + 8;
  older.threads = 1;
  older.maxBatch = 2;
  ASSERT_EQ(
      transom_session_create(
          model, reinterpret_cast<transom_session_options *>(&older), &session),
      TRANSOM_STATUS_OK)
      << transom_last_error();
  transom_session_free(session);
  // A newer caller's struct is longer: zeros are fine, anything else is not.
  struct {
    transom_session_options known = transom_session_options_default();
    uint64_t unknown = 0;
  } newer;
  newer.known.struct_size = sizeof newer;
  uint64_t bytes;
  EXPECT_EQ(transom_model_memory(model, &newer.known, &bytes),
            TRANSOM_STATUS_OK);
  newer.unknown = 1;
  EXPECT_EQ(transom_model_memory(model, &newer.known, &bytes),
            TRANSOM_STATUS_USAGE);
  newer.unknown = uint64_t(int64_t(TRANSOM_FROM_MODEL));
  EXPECT_EQ(transom_model_memory(model, &newer.known, &bytes),
            TRANSOM_STATUS_OK);
  // Defaults are written as far as the caller's struct goes; fields unknown to
  // the library are zero.
  alignas(8) char bytesOfStruct[sizeof(transom_session_options) + 16];
  auto *options2 = reinterpret_cast<transom_session_options *>(bytesOfStruct);
  for (size_t size :
       {offsetof(transom_session_options, max_tokens), sizeof bytesOfStruct}) {
    std::memset(bytesOfStruct, 0x55, sizeof bytesOfStruct);
    transom_session_options_init(options2, size);
    EXPECT_EQ(options2->struct_size, size);
    const size_t known = std::min(size, sizeof options);
    const transom_session_options defaults = transom_session_options_default();
    EXPECT_EQ(
        std::memcmp(bytesOfStruct + sizeof(size_t),
                    reinterpret_cast<const char *>(&defaults) + sizeof(size_t),
                    known - sizeof(size_t)),
        0);
    for (size_t i = known; i != sizeof bytesOfStruct; ++i)
      EXPECT_EQ(bytesOfStruct[i], i < size ? 0 : 0x55) << i;
  }
  // Info structs are filled as far as the caller's struct goes.
  transom_entry_info entry = transom_entry_info_default();
  entry.struct_size = offsetof(transom_entry_info, num_outputs);
  entry.num_outputs = 77;
  ASSERT_EQ(transom_model_get_entry(model, 0, &entry), TRANSOM_STATUS_OK);
  EXPECT_STREQ(entry.name, "encode");
  EXPECT_EQ(entry.num_outputs, 77u);
}

TEST_F(Api, each_thread_has_its_message) {
  EXPECT_EQ(transom_model_get_entry(model, 9, nullptr), TRANSOM_STATUS_USAGE);
  std::string mine = transom_last_error();
  EXPECT_NE(mine, "");
  std::thread([] {
    EXPECT_STREQ(transom_last_error(), "");
    transom_model *none = nullptr;
    EXPECT_EQ(transom_model_load("/no/such/model.so", nullptr, &none),
              TRANSOM_STATUS_UNAVAILABLE);
    EXPECT_NE(std::strstr(transom_last_error(), "/no/such/model.so"), nullptr);
  }).join();
  EXPECT_EQ(mine, transom_last_error());
}

TEST_F(Api, null_arguments_are_told) {
  EXPECT_EQ(transom_model_load(nullptr, nullptr, nullptr),
            TRANSOM_STATUS_USAGE);
  EXPECT_EQ(transom_model_get_info(nullptr, nullptr), TRANSOM_STATUS_USAGE);
  EXPECT_EQ(transom_model_get_info(model, nullptr), TRANSOM_STATUS_USAGE);
  EXPECT_EQ(transom_model_memory(model, nullptr, nullptr),
            TRANSOM_STATUS_USAGE);
  EXPECT_EQ(transom_session_create(nullptr, nullptr, nullptr),
            TRANSOM_STATUS_USAGE);
  EXPECT_EQ(transom_session_run(nullptr, "encode", nullptr, 0, nullptr, 0),
            TRANSOM_STATUS_USAGE);
  EXPECT_EQ(
      transom_session_embed(nullptr, nullptr, 0, nullptr, nullptr, 0, nullptr),
      TRANSOM_STATUS_USAGE);
  transom_model_free(nullptr);
  transom_session_free(nullptr);
  transom_session_cancel(nullptr);
}

TEST_F(Api, forced_instruction_sets) {
  transom_model *other = nullptr;
  setenv("TRANSOM_FORCE_ISA", "avx2", 1);
  EXPECT_EQ(
      transom_model_load(folder.path("model.so").c_str(), nullptr, &other),
      TRANSOM_STATUS_OK);
  transom_model_free(other);
  for (const char *wrong : {"avx512", "avx3"}) {
    setenv("TRANSOM_FORCE_ISA", wrong, 1);
    EXPECT_EQ(
        transom_model_load(folder.path("model.so").c_str(), nullptr, &other),
        TRANSOM_STATUS_UNSUPPORTED);
    EXPECT_EQ(other, nullptr);
  }
  unsetenv("TRANSOM_FORCE_ISA");
}

TEST(ApiNames, have_text) {
  EXPECT_STREQ(transom_version(), "0.1.0");
  EXPECT_STREQ(transom_dtype_name(TRANSOM_DTYPE_BF16), "bf16");
  EXPECT_EQ(transom_dtype_size(TRANSOM_DTYPE_I64), 8u);
  EXPECT_STREQ(transom_status_name(TRANSOM_STATUS_LIMIT), "limit");
}

TEST_F(Api, options_out_of_range_are_wrong_usage) {
  transom_session *session = nullptr;
  transom_session_options options = transom_session_options_default();
  for (int32_t wrong : {-1, 2, 1000}) {
    options.hold_results = wrong;
    EXPECT_EQ(transom_session_create(model, &options, &session),
              TRANSOM_STATUS_USAGE);
  }
  options.hold_results = TRANSOM_FROM_MODEL;
  options.threads = 5000;
  EXPECT_EQ(transom_session_create(model, &options, &session),
            TRANSOM_STATUS_USAGE);
}

TEST_F(Api, a_session_of_the_parent_process_says_so) {
  transom_session *session = nullptr;
  transom_session_options options = transom_session_options_default();
  options.threads = 2;
  ASSERT_EQ(transom_session_create(model, &options, &session),
            TRANSOM_STATUS_OK);
  EncodeCall call(1, 3);
  const pid_t child = fork();
  if (child == 0) {
    alarm(300); // instead of a hang
    const transom_status status = transom_session_run(
        session, "encode", call.inputs.data(), 3, call.outputs.data(), 2);
    const bool says = std::strstr(transom_last_error(), "fork()") != nullptr;
    transom_session_free(session);
    _exit(status == TRANSOM_STATUS_USAGE && says ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(transom_session_run(session, "encode", call.inputs.data(), 3,
                                call.outputs.data(), 2),
            TRANSOM_STATUS_OK);
  transom_session_free(session);
}
