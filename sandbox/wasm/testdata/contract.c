/* The guest of the contract between handlers and engines: it does what the
 * body's `do` says. build.sh builds contract.wasm. */
#include "pipeline.h"

/* What a C library would call to fail with words. */
__attribute__((import_module("wasi_snapshot_preview1"), import_name("fd_write"))) int32_t
fd_write(int32_t fd, const void *pieces, int32_t n, uint32_t *written);
__attribute__((import_module("wasi_snapshot_preview1"), import_name("proc_exit"))) _Noreturn void proc_exit(int32_t code);

static int is(pipeline_text deed, const char *name) { return pipeline_equal(pipeline_string(deed), name); }

/* Writes "name": value when the body has it. */
static void option(pipeline_text body, const char *name) {
  pipeline_text value = pipeline_member(body, name);
  if (value.n == 0) return;
  pipeline_write(",\"");
  pipeline_write(name);
  pipeline_write("\":");
  pipeline_write_text(value);
}

/* An action with what else the body says of it. */
static uint64_t action(pipeline_text body, const char *name) {
  pipeline_write("{\"action\":\"");
  pipeline_write(name);
  pipeline_write("\"");
  option(body, "after_ms");
  option(body, "reason");
  pipeline_write("}");
  return pipeline_result();
}

static uint64_t reply(pipeline_text body, pipeline_text value) {
  pipeline_reply_begin();
  pipeline_write_text(value);
  option(body, "to");
  option(body, "key");
  option(body, "headers");
  return pipeline_reply_end();
}

static uint64_t replies(pipeline_text list) {
  const char *end = list.p + list.n, *p = pipeline_space(list.p + 1, end);
  pipeline_write("{\"action\":\"reply\",\"replies\":[");
  for (int first = 1; p < end && *p != ']'; first = 0) {
    const char *from = p;
    p = pipeline_skip(p, end);
    pipeline_write(first ? "{\"body\":" : ",{\"body\":");
    pipeline_put(from, (uint32_t)(p - from));
    pipeline_write("}");
    p = pipeline_space(p, end);
    if (p < end && *p == ',') p = pipeline_space(p + 1, end);
  }
  pipeline_write("]}");
  return pipeline_result();
}

static uint64_t meta(pipeline_text input) {
  static const char *const names[] = {"attempt", "deliveries", "group", "headers", "id", "idle_ms",
                                      "key", "max_attempts", "now_ms", "stream", "subscription"};
  pipeline_reply_begin();
  pipeline_write("{\"id\":");
  pipeline_write_text(pipeline_member(input, "id"));
  for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
    if (names[i][0] != 'i' || names[i][1] != 'd' || names[i][2]) option(input, names[i]);
  pipeline_write("}");
  return pipeline_reply_end();
}

static uint64_t fail(pipeline_text reason) {
  struct {
    const char *p;
    uint32_t n;
  } piece = {reason.p, reason.n};
  uint32_t written;
  fd_write(2, &piece, 1, &written);
  proc_exit(1);
}

static uint64_t hoard(void) {
  while (__builtin_wasm_memory_grow(0, 1) != (size_t)-1) {}
  __builtin_trap();
}

static uint64_t spin(void) {
  for (volatile uint32_t i = 0;; i++) {}
}

PIPELINE_HANDLER(handle) {
  pipeline_text body = pipeline_member(input, "body"), deed = pipeline_member(body, "do");
  if (is(deed, "ack")) return PIPELINE_ACK;
  if (is(deed, "retry")) return action(body, "retry");
  if (is(deed, "dead")) return action(body, "dead");
  if (is(deed, "drop")) return action(body, "drop");
  if (is(deed, "reply")) return reply(body, pipeline_member(body, "value"));
  if (is(deed, "replies")) return replies(pipeline_member(body, "values"));
  if (is(deed, "echo")) {
    pipeline_text none = {0, 0};
    return reply(none, body);
  }
  if (is(deed, "fail")) return fail(pipeline_string(pipeline_member(body, "reason")));
  if (is(deed, "spin")) return spin();
  if (is(deed, "hoard")) return hoard();
  if (is(deed, "meta")) return meta(input);
  if (is(deed, "log")) {
    pipeline_text message = pipeline_string(pipeline_member(body, "message"));
    pipeline_log(PIPELINE_INFO, message.p, message.n, "", 0);
    return PIPELINE_ACK;
  }
  return 99; /* nothing that means anything */
}
