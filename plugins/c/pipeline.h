/* pipeline.h: handlers in C for the interface "pipeline 1".
 *
 * Include it in one file, define handlers, and build with ./build.sh. It needs
 * no C library and allocates nothing but its two buffers.
 *
 *   PIPELINE_HANDLER(screen_payment) {
 *     pipeline_text payment = pipeline_member(input, "body");
 *     ...
 *     return PIPELINE_ACK;
 *   }
 */
#ifndef PIPELINE_H
#define PIPELINE_H

#include <stddef.h>
#include <stdint.h>

/* Results that are a code alone. */
#define PIPELINE_ACK 0ull
#define PIPELINE_RETRY 1ull
#define PIPELINE_DEAD 2ull
#define PIPELINE_DROP 3ull

/* Levels of pipeline_log. */
#define PIPELINE_DEBUG (-4)
#define PIPELINE_INFO 0
#define PIPELINE_WARN 4
#define PIPELINE_ERROR 8

/* How long a result may be; define it before including this file. */
#ifndef PIPELINE_OUTPUT
#define PIPELINE_OUTPUT 65536
#endif

/* A piece of text, not ended by a zero. n is 0 where there is none. */
typedef struct {
  const char *p;
  uint32_t n;
} pipeline_text;

/* Defines a handler function. Its input is the envelope, a JSON object with
 * the member "body"; with `input = "raw"` it is the body's bytes. */
#define PIPELINE_HANDLER(name)                                              \
  static uint64_t name##_handler(pipeline_text input);                      \
  __attribute__((export_name(#name))) uint64_t name(const char *p, uint32_t n) { \
    pipeline_text input = {p, n};                                           \
    pipeline_length = 0;                                                    \
    return name##_handler(input);                                           \
  }                                                                         \
  static uint64_t name##_handler(pipeline_text input)

/* What the host offers. pipeline_log needs `grant "log" {}` in the pipeline
 * file; fields is a JSON object, or empty. */
__attribute__((import_module("pipeline"), import_name("log"))) void
pipeline_log(int32_t level, const char *text, uint32_t n, const char *fields, uint32_t fields_n);
/* The time of the delivery in milliseconds; it stands still during a call. */
__attribute__((import_module("pipeline"), import_name("now"))) int64_t pipeline_now(void);
/* Random bytes; the same entry gives the same ones. */
__attribute__((import_module("pipeline"), import_name("random"))) void pipeline_random(void *p, uint32_t n);
/* Writes what the envelope calls that and returns its length, or -1; what is
 * longer than the room is not written. "header:NAME" is one header. */
__attribute__((import_module("pipeline"), import_name("meta"))) int32_t
pipeline_meta(const char *name, uint32_t n, char *p, uint32_t room);

/* Only pipeline_fail calls it. */
typedef struct {
  const char *p;
  uint32_t n;
} pipeline_piece;
__attribute__((import_module("wasi_snapshot_preview1"), import_name("fd_write"))) int32_t
pipeline_fd_write(int32_t fd, const pipeline_piece *pieces, uint32_t n, uint32_t *written);

/* Ends the call: the attempt has failed, and these words are in its message. */
__attribute__((noreturn)) static void pipeline_fail(const char *words) {
  pipeline_piece line = {words, 0};
  uint32_t written;
  while (words[line.n]) line.n++;
  pipeline_fd_write(2, &line, 1, &written);
  __builtin_trap();
}

static char pipeline_output[PIPELINE_OUTPUT];
static uint32_t pipeline_length;

__attribute__((export_name("pipeline_abi_1"))) void pipeline_abi_1(void) {}

/* The input buffer: pages of its own, so that it never moves. */
__attribute__((export_name("pipeline_alloc"))) void *pipeline_alloc(uint32_t size) {
  size_t page = __builtin_wasm_memory_grow(0, (size_t)(size + 65535ull) >> 16);
  return page == (size_t)-1 ? NULL : (void *)(page << 16);
}

/* ---- reading JSON ---- */

static const char *pipeline_space(const char *p, const char *end) {
  while (p < end && (uint8_t)*p <= ' ' && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r')) p++;
  return p;
}

/* Whether one of eight bytes is c: the lowest bit that is set is in the first of
 * them. */
static uint64_t pipeline_has(uint64_t eight, uint8_t c) {
  uint64_t ones = 0x0101010101010101ull, zero = eight ^ ones * c;
  return (zero - ones) & ~zero & ones << 7;
}

static const char *pipeline_skip_string(const char *p, const char *end) {
  for (p++; end - p >= 8; p += 8) {
    uint64_t eight;
    __builtin_memcpy(&eight, p, 8);
    uint64_t found = pipeline_has(eight, '"') | pipeline_has(eight, '\\');
    if (found) {
      p += __builtin_ctzll(found) >> 3;
      break;
    }
  }
  while (p < end && *p != '"') p += *p == '\\' ? 2 : 1;
  return p < end ? p + 1 : end;
}

/* Whether c ends a number or a word. */
static int pipeline_ends(char c) {
  if ((uint8_t)c > ',') return (c | 0x20) == '}'; /* or ']' */
  return c == ',' || c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* The end of the value at p. */
static const char *pipeline_skip(const char *p, const char *end) {
  int depth = 0;
  do {
    if (p >= end) return end;
    if (*p == '"') {
      p = pipeline_skip_string(p, end);
    } else if (*p == '{' || *p == '[') {
      depth++, p++;
    } else if (*p == '}' || *p == ']') {
      depth--, p++;
    } else if (depth > 0 && (*p == ',' || *p == ':')) {
      p++;
    } else {
      while (p < end && !pipeline_ends(*p)) p++;
    }
    if (depth > 0) p = pipeline_space(p, end);
  } while (depth > 0);
  return p;
}

static int pipeline_equal(pipeline_text a, const char *b) {
  uint32_t i = 0;
  for (; i < a.n; i++)
    if (b[i] == 0 || a.p[i] != b[i]) return 0;
  return b[i] == 0;
}

/* Goes through the members of an object: at *p, which begins with the object
 * itself, stands one more member whose key is in key, and *p is at its value
 * then; else 0. Names with escapes come as they are written. */
static int pipeline_next(pipeline_text object, const char **p, pipeline_text *key) {
  const char *end = object.p + object.n, *from = *p;
  if (from == object.p) {
    from = pipeline_space(from, end);
    if (from >= end || *from != '{') return 0;
    from = pipeline_space(from + 1, end);
  } else {
    from = pipeline_space(from, end);
    if (from < end && *from == ',') from = pipeline_space(from + 1, end);
  }
  if (from >= end || *from != '"') return 0;
  const char *to = pipeline_skip_string(from, end);
  key->p = from + 1, key->n = to - from >= 2 ? (uint32_t)(to - from - 2) : 0;
  from = pipeline_space(to, end);
  if (from >= end || *from != ':') return 0;
  *p = pipeline_space(from + 1, end);
  return 1;
}

/* Members of an object as they are written: a string has its quotes, a number
 * all its digits. One that is not there, or whose name has escapes, is none. The
 * object is read once and no further than to the last one that is looked for. */
static void pipeline_members(pipeline_text object, const char *const *names, pipeline_text *values, uint32_t n) {
  const char *end = object.p + object.n, *p = object.p;
  pipeline_text none = {0, 0}, key;
  uint32_t left = n;
  for (uint32_t i = 0; i < n; i++) values[i] = none;
  while (left > 0 && pipeline_next(object, &p, &key)) {
    const char *from = p;
    p = pipeline_skip(p, end);
    for (uint32_t i = 0; i < n; i++) {
      if (values[i].p || !pipeline_equal(key, names[i])) continue;
      values[i].p = from, values[i].n = (uint32_t)(p - from);
      left--;
    }
  }
}

/* One member. */
static pipeline_text pipeline_member(pipeline_text object, const char *name) {
  pipeline_text value;
  pipeline_members(object, &name, &value, 1);
  return value;
}

/* A member that is an object, to look for its members: where it ends is not looked
 * for, so that what follows it is in it too. */
static pipeline_text pipeline_inside(pipeline_text object, const char *name) {
  const char *end = object.p + object.n, *p = object.p;
  pipeline_text none = {0, 0}, key;
  while (pipeline_next(object, &p, &key)) {
    if (pipeline_equal(key, name)) {
      pipeline_text value = {p, (uint32_t)(end - p)};
      return value;
    }
    p = pipeline_skip(p, end);
  }
  return none;
}

/* The text of a string without its quotes; escapes stay as they are. */
static pipeline_text pipeline_string(pipeline_text value) {
  pipeline_text none = {0, 0}, inner = {value.p + 1, value.n - 2};
  return value.n >= 2 && value.p[0] == '"' ? inner : none;
}

static int pipeline_starts_with(pipeline_text text, const char *head) {
  for (uint32_t i = 0; head[i]; i++)
    if (i >= text.n || text.p[i] != head[i]) return 0;
  return 1;
}

/* A number as a double, as near as comparisons and sums need. What is no
 * number, or not there, ends the call. */
static double pipeline_number(pipeline_text value) {
  const char *p = value.p, *end = p + value.n;
  if (p == end || (*p != '-' && (*p < '0' || *p > '9'))) pipeline_fail("what has to be a number is none, or is missing");
  double sign = 1, n = 0;
  int exponent = 0, e = 0, negative = 0;
  if (p < end && *p == '-') sign = -1, p++;
  for (; p < end && *p >= '0' && *p <= '9'; p++) n = n * 10 + (*p - '0');
  if (p < end && *p == '.')
    for (p++; p < end && *p >= '0' && *p <= '9'; p++) n = n * 10 + (*p - '0'), exponent--;
  if (p < end && (*p == 'e' || *p == 'E')) {
    p++;
    if (p < end && (*p == '-' || *p == '+')) negative = *p == '-', p++;
    for (; p < end && *p >= '0' && *p <= '9'; p++)
      if (e < 10000) e = e * 10 + (*p - '0');
    exponent += negative ? -e : e;
  }
  double power = 1, base = 10;
  for (unsigned k = exponent < 0 ? -(unsigned)exponent : (unsigned)exponent; k; k >>= 1, base *= base)
    if (k & 1) power *= base;
  return sign * (exponent < 0 ? n / power : n * power);
}

/* ---- writing a result ---- */

/* Adds to the result. A result that is too long ends the call. */
static inline __attribute__((always_inline)) void pipeline_put(const char *p, uint32_t n) {
  if (n > PIPELINE_OUTPUT - pipeline_length) pipeline_fail("the result is longer than PIPELINE_OUTPUT");
  char *to = pipeline_output + pipeline_length;
  pipeline_length += n;
  for (; n >= 8; n -= 8, p += 8, to += 8) __builtin_memcpy(to, p, 8);
  for (; n > 0; n--) *to++ = *p++;
}

/* Adds a text, of which the compiler knows the length where it is a literal. */
static inline __attribute__((always_inline)) void pipeline_write(const char *s) {
  uint32_t n = 0;
  if (__builtin_constant_p(__builtin_strlen(s)))
    n = (uint32_t)__builtin_strlen(s);
  else
    while (s[n]) n++;
  pipeline_put(s, n);
}

static void pipeline_write_text(pipeline_text text) { pipeline_put(text.p, text.n); }

/* The result that was written, which is what a handler returns. */
static uint64_t pipeline_result(void) {
  return (uint64_t)(uintptr_t)pipeline_output << 32 | pipeline_length;
}

/* A reply is what is written between these two: one JSON value. */
static void pipeline_reply_begin(void) { pipeline_write("{\"action\":\"reply\",\"replies\":[{\"body\":"); }
static uint64_t pipeline_reply_end(void) {
  pipeline_write("}]}");
  return pipeline_result();
}

#endif
