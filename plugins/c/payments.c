/* Screens payments: the handler of examples/handlers/payments.lua in C. */
#include "pipeline.h"

PIPELINE_HANDLER(screen_payment) {
  pipeline_text payment = pipeline_member(input, "body");
  pipeline_reply_begin();
  pipeline_write("{\"payment_id\":");
  pipeline_write_text(pipeline_member(payment, "id"));
  pipeline_write(",\"suspicious\":");
  pipeline_write(pipeline_number(pipeline_member(payment, "amount_cents")) > 1000000 ? "true" : "false");
  pipeline_write("}");
  return pipeline_reply_end();
}
