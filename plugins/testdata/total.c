/* Acknowledges a body unless all its bytes are zero; with `input = "raw"`. */
#include "pipeline.h"

PIPELINE_HANDLER(total) {
  uint32_t sum = 0;
  for (uint32_t i = 0; i < input.n; i++) sum += (uint8_t)input.p[i];
  return sum ? PIPELINE_ACK : PIPELINE_DROP;
}
