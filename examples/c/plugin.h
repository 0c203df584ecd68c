/* A PJRT plugin from C: the few calls that running a model takes.
 *
 * In: the path of a plugin, a module that hlograph wrote, arrays in row-major order. Out: arrays. An error ends the
 * process with the plugin's own message. `pjrt_c_api.h` is OpenXLA's; a plugin takes the structs of older headers,
 * which is what `struct_size` is for. One thread; one device, the first. */
#pragma once

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pjrt_c_api.h"

enum { MOST_ARRAYS = 16, MOST_AXES = 8 };

/* An array of the caller's. `data` of an argument stays as it is, and in place, until the call is over. */
typedef struct {
  PJRT_Buffer_Type type;
  size_t axes, bytes;
  int64_t shape[MOST_AXES];
  void* data;
} Array;

typedef struct {
  void* library;
  const PJRT_Api* api;
  PJRT_Client* client;
  PJRT_Device* device;
  PJRT_LoadedExecutable* executable;
  size_t results;
} Model;

static inline void check(const PJRT_Api* api, PJRT_Error* error, const char* what) {
  if (error == NULL) return;
  PJRT_Error_Message_Args message = {.struct_size = PJRT_Error_Message_Args_STRUCT_SIZE, .error = error};
  api->PJRT_Error_Message(&message);
  fprintf(stderr, "%s: %.*s\n", what, (int)message.message_size, message.message);
  PJRT_Error_Destroy_Args destroy = {.struct_size = PJRT_Error_Destroy_Args_STRUCT_SIZE, .error = error};
  api->PJRT_Error_Destroy(&destroy);
  exit(1);
}

#define FAIL(...) (fprintf(stderr, __VA_ARGS__), fputc('\n', stderr), exit(1))

/* Calls the plugin's function `name`; its arguments are designated fields of `variable`, which has the results too. */
#define CALL(api, name, variable, ...) \
  PJRT_##name##_Args variable = {.struct_size = PJRT_##name##_Args_STRUCT_SIZE, __VA_ARGS__}; \
  check(api, (api)->PJRT_##name(&variable), #name)

/* Waits for an event, which is gone then; its error is that of what it stands for. */
static inline void await(const PJRT_Api* api, PJRT_Event* event) {
  CALL(api, Event_Await, wait, .event = event);
  CALL(api, Event_Destroy, destroy, .event = event);
}

static inline char* read_file(const char* path, size_t* size) {
  FILE* file = fopen(path, "rb");
  long length = file != NULL && fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
  char* text = length > 0 ? malloc((size_t)length) : NULL;
  if (text == NULL || fseek(file, 0, SEEK_SET) != 0 || fread(text, 1, (size_t)length, file) != (size_t)length)
    FAIL("%s: %s", path, length == 0 ? "it is empty" : strerror(errno));
  fclose(file);
  *size = (size_t)length;
  return text;
}

/* Opens a plugin and compiles a module. */
static inline Model open_model(const char* plugin, const char* path) {
  Model model = {.library = dlopen(plugin, RTLD_NOW | RTLD_LOCAL)};
  const PJRT_Api* (*get_api)(void) = NULL;
  void* symbol = model.library == NULL ? NULL : dlsym(model.library, "GetPjrtApi");
  if (symbol == NULL) FAIL("%s", dlerror());
  memcpy(&get_api, &symbol, sizeof get_api); /* ISO C has no cast from an object's pointer to a function's */
  const PJRT_Api* api = model.api = get_api();
  CALL(api, Plugin_Initialize, initialize, .extension_start = NULL);
  CALL(api, Client_Create, create, .num_options = 0);
  model.client = create.client;
  CALL(api, Client_AddressableDevices, devices, .client = model.client);
  if (devices.num_addressable_devices == 0) FAIL("%s has no device", plugin);
  model.device = devices.addressable_devices[0];
  /* CompileOptionsProto { executable_build_options (3) { num_replicas (4): 1, num_partitions (5): 1 } } */
  static const char options[] = {0x1a, 4, 0x20, 1, 0x28, 1};
  PJRT_Program program = {.struct_size = PJRT_Program_STRUCT_SIZE, .format = "mlir", .format_size = 4};
  program.code = read_file(path, &program.code_size);
  CALL(api, Client_Compile, compile, .client = model.client, .program = &program, .compile_options = options,
       .compile_options_size = sizeof options);
  free(program.code);
  model.executable = compile.executable;
  CALL(api, LoadedExecutable_GetExecutable, get, .loaded_executable = model.executable);
  CALL(api, Executable_NumOutputs, outputs, .executable = get.executable);
  model.results = outputs.num_outputs;
  if (model.results > MOST_ARRAYS) FAIL("%s has %zu results; there is room for %d", path, model.results, MOST_ARRAYS);
  CALL(api, Executable_Destroy, destroy, .executable = get.executable);
  return model;
}

/* An array on the device. On a CPU it is the caller's own memory where that is aligned to 64 bytes, else a copy. */
static inline PJRT_Buffer* upload(const Model* model, const Array* array) {
  CALL(model->api, Client_BufferFromHostBuffer, from, .client = model->client, .data = array->data,
       .type = array->type, .dims = array->shape, .num_dims = array->axes, .device = model->device,
       .host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableZeroCopy);
  CALL(model->api, Event_Destroy, done, .event = from.done_with_host_buffer);
  return from.buffer;
}

static inline void release(const Model* model, PJRT_Buffer* buffer) {
  CALL(model->api, Buffer_Destroy, destroy, .buffer = buffer);
}

/* A result's content. A CPU's is read where it lies: the copy that a plugin makes there waits for a thread. */
static inline void download(const Model* model, PJRT_Buffer* buffer, Array* result) {
  const PJRT_Api* api = model->api;
  CALL(api, Buffer_IsOnCpu, place, .buffer = buffer);
  if (!place.is_on_cpu) {
    CALL(api, Buffer_ToHostBuffer, copy, .src = buffer, .dst = result->data, .dst_size = result->bytes);
    await(api, copy.event);
    return;
  }
  CALL(api, Buffer_ReadyEvent, ready, .buffer = buffer);
  await(api, ready.event);
  CALL(api, Buffer_OnDeviceSizeInBytes, size, .buffer = buffer);
  if (size.on_device_size_in_bytes != result->bytes)
    FAIL("a result has %zu bytes, not %zu", size.on_device_size_in_bytes, result->bytes);
  CALL(api, Buffer_UnsafePointer, content, .buffer = buffer);
  if (result->bytes) memcpy(result->data, (const void*)content.buffer_pointer, result->bytes);
}

/* Runs the model on buffers, and copies the results into arrays of their sizes. */
static inline void call(const Model* model, PJRT_Buffer* const* arguments, size_t count, Array* results) {
  PJRT_Buffer* made[MOST_ARRAYS] = {NULL};
  PJRT_Buffer** made_by_device[1] = {made};
  PJRT_ExecuteOptions options = {.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE};
  CALL(model->api, LoadedExecutable_Execute, execute, .executable = model->executable, .options = &options,
       .argument_lists = &arguments, .num_devices = 1, .num_args = count, .output_lists = made_by_device);
  for (size_t i = 0; i < model->results; i++) download(model, made[i], &results[i]);
  for (size_t i = 0; i < model->results; i++) release(model, made[i]);
}

/* The library stays open: its threads may outlive the client. */
static inline void close_model(Model* model) {
  CALL(model->api, LoadedExecutable_Destroy, executable, .executable = model->executable);
  CALL(model->api, Client_Destroy, client, .client = model->client);
}
