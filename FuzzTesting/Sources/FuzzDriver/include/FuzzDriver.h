#pragma once

#include <stddef.h>
#include <stdint.h>

/// Runs libFuzzer with the process's arguments; `callback` gets each input and returns 0.
int fuzz_run(int argc, char **argv, int (*callback)(const uint8_t *data, size_t size));
