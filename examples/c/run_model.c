/* A model of hlograph's in a program without Python: one file, one compile, any length.
 *
 *   run_model PLUGIN.so MODEL.mlirbc
 *
 * The model is the logistic regression of examples/without_jax.py, `plain(bounds={"n": 1000})`, and its JSON says
 *
 *   arguments   X: float64[1000, 3], of which [n, 3] counts; y: float64[1000], of which [n]; beta: float64[3]; n: int32
 *   results     loss: float64; gradient: float64[3]; flags: bool[2]
 *
 * What lies behind the n rows that count may be anything. */
#include "plugin.h"

enum { BOUND = 1000, FEATURES = 3, FLAGS = 2 };

static double X[BOUND * FEATURES], y[BOUND], beta[FEATURES] = {0.5, -0.25, 0.125}, loss, gradient[FEATURES];
static unsigned char flags[FLAGS];
static int32_t n;

/* Numbers that any language makes alike. */
static double sample(long i) { return (double)((i * 7919) % 2003) / 1001.5 - 1.0; }

#define ARRAY(pjrt_type, variable, rank, ...) \
  {.type = PJRT_Buffer_Type_##pjrt_type, .axes = rank, .bytes = sizeof variable, .shape = {__VA_ARGS__}, \
   .data = (void*)&variable}

int main(int count, char** words) {
  if (count != 3) FAIL("usage: %s PLUGIN.so MODEL.mlirbc", words[0]);
  for (long i = 0; i < BOUND * FEATURES; i++) X[i] = sample(i);
  for (long i = 0; i < BOUND; i++) y[i] = sample(i * i) > 0;

  Array arguments[] = {ARRAY(F64, X, 2, BOUND, FEATURES), ARRAY(F64, y, 1, BOUND), ARRAY(F64, beta, 1, FEATURES),
                       ARRAY(S32, n, 0, 0)};
  Array results[] = {ARRAY(F64, loss, 0, 0), ARRAY(F64, gradient, 1, FEATURES), ARRAY(PRED, flags, 1, FLAGS)};
  enum { ARGUMENT_COUNT = sizeof arguments / sizeof *arguments, RESULT_COUNT = sizeof results / sizeof *results };

  Model model = open_model(words[1], words[2]);
  if (model.results != RESULT_COUNT) FAIL("%s has %zu results, not %d", words[2], model.results, RESULT_COUNT);
  const int32_t lengths[] = {1, 100, 1000, 1001};
  for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
    PJRT_Buffer* buffers[ARGUMENT_COUNT];
    n = lengths[k];
    for (size_t i = 0; i < ARGUMENT_COUNT; i++) buffers[i] = upload(&model, &arguments[i]);
    call(&model, buffers, ARGUMENT_COUNT, results);
    for (size_t i = 0; i < ARGUMENT_COUNT; i++) release(&model, buffers[i]);
    int failed = -1;
    for (int i = 0; i < FLAGS && failed < 0; i++) failed = flags[i] ? -1 : i;
    if (failed >= 0)
      printf("%d: check %d of the model's JSON failed\n", n, failed);
    else
      printf("%d: loss %.15g gradient %.15g %.15g %.15g\n", n, loss, gradient[0], gradient[1], gradient[2]);
  }
  close_model(&model);
  return 0;
}
