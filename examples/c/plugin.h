/* A PJRT plugin from C: the few calls that running a model takes.
 *
 * In: the path of a plugin, a module that hlograph wrote, arrays in row-major order. Out: arrays. An error ends the
 * process with the plugin's own message. `pjrt_c_api.h` is OpenXLA's; a plugin takes the structs of older headers,
 * which is what `struct_size` is for. One thread; one device, the first. */
#ifndef PLUGIN_H
#define PLUGIN_H

#include <dlfcn.h>
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

/* Arguments of the plugin's function `name`, with their size; the rest follows as designated fields. */
#define ARGUMENTS(name, variable, ...) \
  PJRT_##name##_Args variable = {.struct_size = PJRT_##name##_Args_STRUCT_SIZE, __VA_ARGS__}
#define CALL(api, name, variable) check(api, (api)->PJRT_##name(&(variable)), #name)

/* Waits for an event, which is gone then. */
static inline void await(const PJRT_Api* api, PJRT_Event* event, const char* what) {
  ARGUMENTS(Event_Await, wait, .event = event);
  check(api, api->PJRT_Event_Await(&wait), what);
  ARGUMENTS(Event_Destroy, destroy, .event = event);
  CALL(api, Event_Destroy, destroy);
}

static inline char* read_file(const char* path, size_t* size) {
  FILE* file = fopen(path, "rb");
  long length = -1;
  if (file != NULL && fseek(file, 0, SEEK_END) == 0) length = ftell(file);
  char* text = length > 0 ? malloc((size_t)length) : NULL;
  if (text == NULL || fseek(file, 0, SEEK_SET) != 0 || fread(text, 1, (size_t)length, file) != (size_t)length) {
    perror(path);
    exit(1);
  }
  fclose(file);
  *size = (size_t)length;
  return text;
}

/* Opens a plugin and compiles a module. */
static inline Model open_model(const char* plugin, const char* path) {
  Model model = {.library = dlopen(plugin, RTLD_NOW | RTLD_LOCAL)};
  const PJRT_Api* (*get_api)(void) = NULL;
  void* symbol = model.library == NULL ? NULL : dlsym(model.library, "GetPjrtApi");
  if (symbol == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  memcpy(&get_api, &symbol, sizeof get_api); /* ISO C has no cast from an object's pointer to a function's */
  const PJRT_Api* api = model.api = get_api();
  ARGUMENTS(Plugin_Initialize, initialize, .extension_start = NULL);
  CALL(api, Plugin_Initialize, initialize);
  ARGUMENTS(Client_Create, create, .num_options = 0);
  CALL(api, Client_Create, create);
  model.client = create.client;
  ARGUMENTS(Client_AddressableDevices, devices, .client = model.client);
  CALL(api, Client_AddressableDevices, devices);
  if (devices.num_addressable_devices == 0) {
    fprintf(stderr, "%s has no device\n", plugin);
    exit(1);
  }
  model.device = devices.addressable_devices[0];
  /* CompileOptionsProto { executable_build_options (3) { num_replicas (4): 1, num_partitions (5): 1 } } */
  static const char options[] = {0x1a, 4, 0x20, 1, 0x28, 1};
  PJRT_Program program = {.struct_size = PJRT_Program_STRUCT_SIZE, .format = "mlir", .format_size = 4};
  program.code = read_file(path, &program.code_size);
  ARGUMENTS(Client_Compile, compile, .client = model.client, .program = &program, .compile_options = options,
            .compile_options_size = sizeof options);
  CALL(api, Client_Compile, compile);
  free(program.code);
  model.executable = compile.executable;
  ARGUMENTS(LoadedExecutable_GetExecutable, get, .loaded_executable = model.executable);
  CALL(api, LoadedExecutable_GetExecutable, get);
  ARGUMENTS(Executable_NumOutputs, outputs, .executable = get.executable);
  CALL(api, Executable_NumOutputs, outputs);
  model.results = outputs.num_outputs;
  if (model.results > MOST_ARRAYS) {
    fprintf(stderr, "%s has %zu results; there is room for %d\n", path, model.results, MOST_ARRAYS);
    exit(1);
  }
  ARGUMENTS(Executable_Destroy, destroy, .executable = get.executable);
  CALL(api, Executable_Destroy, destroy);
  return model;
}

/* An array on the device. On a CPU it is the caller's own memory where that is aligned to 64 bytes, else a copy. */
static inline PJRT_Buffer* upload(const Model* model, const Array* array) {
  ARGUMENTS(Client_BufferFromHostBuffer, from, .client = model->client, .data = array->data, .type = array->type,
            .dims = array->shape, .num_dims = array->axes, .device = model->device,
            .host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableZeroCopy);
  CALL(model->api, Client_BufferFromHostBuffer, from);
  ARGUMENTS(Event_Destroy, done, .event = from.done_with_host_buffer);
  CALL(model->api, Event_Destroy, done);
  return from.buffer;
}

static inline void release(const Model* model, PJRT_Buffer* buffer) {
  ARGUMENTS(Buffer_Destroy, destroy, .buffer = buffer);
  CALL(model->api, Buffer_Destroy, destroy);
}

/* A result's content. A CPU's is read where it lies: the copy that a plugin makes there waits for a thread. */
static inline void download(const Model* model, PJRT_Buffer* buffer, Array* result) {
  const PJRT_Api* api = model->api;
  ARGUMENTS(Buffer_IsOnCpu, place, .buffer = buffer);
  CALL(api, Buffer_IsOnCpu, place);
  if (!place.is_on_cpu) {
    ARGUMENTS(Buffer_ToHostBuffer, copy, .src = buffer, .dst = result->data, .dst_size = result->bytes);
    CALL(api, Buffer_ToHostBuffer, copy);
    await(api, copy.event, "the run of the model");
    return;
  }
  ARGUMENTS(Buffer_ReadyEvent, ready, .buffer = buffer);
  CALL(api, Buffer_ReadyEvent, ready);
  await(api, ready.event, "the run of the model");
  ARGUMENTS(Buffer_OnDeviceSizeInBytes, size, .buffer = buffer);
  CALL(api, Buffer_OnDeviceSizeInBytes, size);
  if (size.on_device_size_in_bytes != result->bytes) {
    fprintf(stderr, "a result has %zu bytes, not %zu\n", size.on_device_size_in_bytes, result->bytes);
    exit(1);
  }
  ARGUMENTS(Buffer_UnsafePointer, content, .buffer = buffer);
  CALL(api, Buffer_UnsafePointer, content);
  if (result->bytes) memcpy(result->data, (const void*)content.buffer_pointer, result->bytes);
}

/* Runs the model on buffers, and copies the results into arrays of their sizes. */
static inline void call(const Model* model, PJRT_Buffer* const* arguments, size_t count, Array* results) {
  PJRT_Buffer* made[MOST_ARRAYS] = {NULL};
  PJRT_Buffer** made_by_device[1] = {made};
  PJRT_ExecuteOptions options = {.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE};
  ARGUMENTS(LoadedExecutable_Execute, execute, .executable = model->executable, .options = &options,
            .argument_lists = &arguments, .num_devices = 1, .num_args = count, .output_lists = made_by_device);
  CALL(model->api, LoadedExecutable_Execute, execute);
  for (size_t i = 0; i < model->results; i++) download(model, made[i], &results[i]);
  for (size_t i = 0; i < model->results; i++) release(model, made[i]);
}

/* The library stays open: its threads may outlive the client. */
static inline void close_model(Model* model) {
  ARGUMENTS(LoadedExecutable_Destroy, executable, .executable = model->executable);
  CALL(model->api, LoadedExecutable_Destroy, executable);
  ARGUMENTS(Client_Destroy, client, .client = model->client);
  CALL(model->api, Client_Destroy, client);
}

#endif
