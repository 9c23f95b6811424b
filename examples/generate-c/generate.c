/* Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Continues a prompt with a compiled decoder and prints the text as it comes;
 * Ctrl-C ends it:
 *   generate model.so "Once upon a time" [most new tokens]
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transom/transom.h"

static transom_session *running = NULL;

/* transom_session_cancel() may be called from a signal handler and from any
 * thread. */
static void interrupt(int number) {
  (void)number;
  if (running != NULL)
    transom_session_cancel(running);
}

/* Prints the error of the last call; its status is the exit code. */
static int fail(const char *what, transom_status status) {
  fprintf(stderr, "generate: %s: %s\n", what, transom_last_error());
  return (int)status;
}

/* Takes each token: its text is whole characters of UTF-8, maybe none. */
static int print(void *context, const transom_generated_token *token) {
  (void)context;
  fwrite(token->text.data, 1, token->text.size, stdout);
  return fflush(stdout); /* not 0: nobody reads any more */
}

static int generate(const transom_model *model, const char *text,
                    const char *most) {
  transom_generate_options options = transom_generate_options_default();
  transom_session_options room = transom_session_options_default();
  transom_prompt prompt = {NULL, 0, {NULL, 0}};
  transom_generation *generation = NULL;
  transom_continuation result = transom_continuation_default();
  transom_status status;
  size_t tokens = 0;

  prompt.text.data = text;
  prompt.text.size = strlen(text);
  options.callback = print;
  if (most != NULL)
    options.max_new_tokens = atol(most);

  /* A session that is just large enough: first the tokens are counted. */
  status = transom_model_tokenize(model, &prompt.text, NULL, NULL, NULL, 0,
                                  &tokens, NULL);
  if (status != TRANSOM_STATUS_OK && status != TRANSOM_STATUS_LIMIT)
    return fail("tokenize", status);
  status =
      transom_session_options_fit_generate(model, &tokens, 1, &options, &room);
  if (status != TRANSOM_STATUS_OK)
    return fail("options", status);
  status = transom_session_create(model, &room, &running);
  if (status != TRANSOM_STATUS_OK)
    return fail("session", status);

  signal(SIGINT, interrupt);
  status = transom_session_generate(running, &prompt, 1, &options, &generation);
  if (generation != NULL &&
      transom_generation_get(generation, 0, &result) == TRANSOM_STATUS_OK)
    printf("\n[%lu tokens, then %s]\n", (unsigned long)result.num_ids,
           transom_finish_name(result.finish));
  signal(SIGINT, SIG_DFL);
  transom_generation_free(generation);
  transom_session_free(running);
  return status == TRANSOM_STATUS_OK ? 0 : fail("generate", status);
}

int main(int argc, char **argv) {
  transom_model *model = NULL;
  transom_status status;
  int result;
  if (argc != 3 && argc != 4) {
    fprintf(stderr, "usage: generate MODEL.so PROMPT [MOST]\n");
    return TRANSOM_STATUS_USAGE;
  }
  status = transom_model_load(argv[1], NULL, &model);
  if (status != TRANSOM_STATUS_OK)
    return fail(argv[1], status);
  result = generate(model, argv[2], argc == 4 ? argv[3] : NULL);
  transom_model_free(model);
  return result;
}
