/* Times calls of a model through a PJRT plugin: what examples/c/run_model.c does, for any model.
 *
 *   call_model PLUGIN.so MODEL.mlirbc < requests
 *
 * Requests: `argument TYPE BYTES FILE RANK SIZE...` and `result BYTES FILE` say what the model takes and gives, in order;
 * `call N` calls it so many times, each with all its arguments anew and until all results are in the caller's memory,
 * and prints the seconds of one call; `write` writes the results of the last call to their files. */
#define _POSIX_C_SOURCE 200112L
#include <inttypes.h>
#include <time.h>

#include "../../examples/c/plugin.h"

static Array arguments[MOST_ARRAYS], results[MOST_ARRAYS];
static char names[MOST_ARRAYS][512];
static size_t argument_count, result_count;

static void fail(const char* what) {
  fprintf(stderr, "%s\n", what);
  exit(1);
}

/* Memory that a CPU's plugin can read in place. */
static void* aligned(size_t bytes) {
  void* found = NULL;
  if (posix_memalign(&found, 64, bytes ? bytes : 1) != 0) fail("no memory");
  return found;
}

static void read_argument(void) {
  Array* array = &arguments[argument_count++];
  char path[512];
  int type;
  if (argument_count > MOST_ARRAYS || scanf("%d %zu %511s %zu", &type, &array->bytes, path, &array->axes) != 4)
    fail("a request for an argument is TYPE BYTES FILE RANK SIZE...");
  array->type = (PJRT_Buffer_Type)type;
  if (array->axes > MOST_AXES) fail("too many axes");
  for (size_t i = 0; i < array->axes; i++)
    if (scanf("%" SCNd64, &array->shape[i]) != 1) fail("a size is missing");
  size_t found;
  char* content = read_file(path, &found);
  if (found != array->bytes) fail("a file is not as long as its array");
  array->data = aligned(found);
  memcpy(array->data, content, found);
  free(content);
}

static void read_result(void) {
  Array* array = &results[result_count];
  if (result_count == MOST_ARRAYS || scanf("%zu %511s", &array->bytes, names[result_count]) != 2)
    fail("a request for a result is BYTES FILE");
  array->data = aligned(array->bytes);
  result_count++;
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void call_once(const Model* model) {
  PJRT_Buffer* buffers[MOST_ARRAYS];
  for (size_t i = 0; i < argument_count; i++) buffers[i] = upload(model, &arguments[i]);
  call(model, buffers, argument_count, results);
  for (size_t i = 0; i < argument_count; i++) release(model, buffers[i]);
}

static void write_results(void) {
  for (size_t i = 0; i < result_count; i++) {
    FILE* file = fopen(names[i], "wb");
    if (file == NULL || fwrite(results[i].data, 1, results[i].bytes, file) != results[i].bytes || fclose(file) != 0)
      fail("a result cannot be written");
  }
}

int main(int count, char** words) {
  if (count != 3) fail("usage: call_model PLUGIN.so MODEL.mlirbc");
  Model model = open_model(words[1], words[2]);
  char word[16];
  while (scanf("%15s", word) == 1) {
    long calls = 0;
    if (strcmp(word, "argument") == 0) {
      read_argument();
    } else if (strcmp(word, "result") == 0) {
      read_result();
    } else if (strcmp(word, "call") == 0 && scanf("%ld", &calls) == 1 && calls > 0) {
      if (result_count != model.results) fail("the model has another number of results");
      double start = now();
      for (long i = 0; i < calls; i++) call_once(&model);
      printf("%.9g\n", (now() - start) / (double)calls);
    } else if (strcmp(word, "write") == 0) {
      write_results();
      printf("written\n");
    } else {
      fail("an unknown request");
    }
    fflush(stdout);
  }
  close_model(&model);
  return 0;
}
