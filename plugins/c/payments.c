/* Screens payments: the handler of examples/handlers/payments.lua in C. */
#include "pipeline.h"

PIPELINE_HANDLER(screen_payment) {
  static const char *const names[] = {"id", "amount_cents"};
  pipeline_text payment[2];
  pipeline_members(pipeline_inside(input, "body"), names, payment, 2);
  pipeline_reply_begin();
  pipeline_write("{\"payment_id\":");
  pipeline_write_text(payment[0]);
  pipeline_write(",\"suspicious\":");
  pipeline_write(pipeline_number(payment[1]) > 1000000 ? "true" : "false");
  pipeline_write("}");
  return pipeline_reply_end();
}
