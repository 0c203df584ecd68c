// What functions of XLA's foreign function interface find in a call frame besides their arguments.
#include "native.h"

// In place of each function of the interface: gives an error, which makes the call fail.
void *hlograph_ffi_refuse(void *arguments) {
    (void)arguments;
    return (void *)1;
}

typedef struct {
    word size;
    void *extension;
    void *error;
    const char *message;  // out
    int code;  // out
} details;

// XLA_FFI_Error_GetDetails
void hlograph_ffi_details(details *arguments) {
    enum { INTERNAL = 13 };
    arguments->message = "not in a direct call";
    arguments->code = INTERNAL;
}
