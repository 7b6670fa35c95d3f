// Handlers in AssemblyScript for the interface "pipeline 1".
//
// Put this file beside yours, export its `pipeline_abi_1` and `pipeline_alloc`
// as payments.ts does, and build with ./build.sh.

// What the host offers. `log` needs `grant "log" {}` in the pipeline file;
// fields is a JSON object, or empty.
@external("pipeline", "log")
declare function host_log(level: i32, text: usize, n: i32, fields: usize, fieldsN: i32): void;
@external("pipeline", "now")
declare function host_now(): i64;
@external("pipeline", "random")
declare function host_random(p: usize, n: i32): void;

// Results that are a code alone.
export const ACK: u64 = 0;
export const RETRY: u64 = 1;
export const DEAD: u64 = 2;
export const DROP: u64 = 3;

/** Writes a log line; fields is a JSON object, or empty. */
export function info(text: string, fields: string = ""): void {
  const t = String.UTF8.encode(text), f = String.UTF8.encode(fields);
  host_log(0, changetype<usize>(t), t.byteLength, changetype<usize>(f), f.byteLength);
}

/** The time of the delivery in milliseconds; it stands still during a call. */
export function now(): i64 {
  return host_now();
}

/** Random bytes; the same entry gives the same ones. */
export function fill(p: Uint8Array): void {
  host_random(p.dataStart, p.length);
}

let input = new ArrayBuffer(0);
let output = new ArrayBuffer(0);

export function pipeline_abi_1(): void {}

/** The input buffer. It stays where it is until a larger one is asked for. */
export function pipeline_alloc(size: i32): usize {
  input = new ArrayBuffer(size);
  return changetype<usize>(input);
}

/** The result of a text, which is what a handler returns. */
export function result(json: string): u64 {
  output = String.UTF8.encode(json);
  return ((<u64>changetype<usize>(output)) << 32) | <u64>output.byteLength;
}

/** A reply with a body, which is JSON. */
export function reply(body: string): u64 {
  return result('{"action":"reply","replies":[{"body":' + body + "}]}");
}

/** A JSON value as it is written, somewhere in the input. */
export class Json {
  constructor(public p: usize, public n: i32) {}

  /** The value as it is written: a number has all its digits. */
  json(): string {
    return String.UTF8.decodeUnsafe(this.p, this.n);
  }

  /** A number as a float; it has to be one. */
  number(): f64 {
    const n = parseFloat(this.json());
    if (isNaN(n)) throw new Error("not a number: " + this.json());
    return n;
  }

  /** A string without its quotes; escapes stay as they are. */
  text(): string {
    if (this.n < 2 || load<u8>(this.p) != QUOTE) throw new Error("not a string: " + this.json());
    return String.UTF8.decodeUnsafe(this.p + 1, this.n - 2);
  }

  /** A member of an object; it has to be there. */
  member(name: string): Json {
    const end = this.p + this.n;
    const want = String.UTF8.encode(name);
    let p = space(this.p, end);
    if (p < end && load<u8>(p) == 0x7b) {
      p = space(p + 1, end);
      while (p < end && load<u8>(p) == QUOTE) {
        const key = p + 1;
        p = skipString(p, end);
        const found = <i32>(p - key) - 1 == want.byteLength && memory.compare(key, changetype<usize>(want), want.byteLength) == 0;
        p = space(p, end);
        if (p >= end || load<u8>(p) != 0x3a) break;
        const from = space(p + 1, end);
        p = skip(from, end);
        if (found) return new Json(from, <i32>(p - from));
        p = space(p, end);
        if (p < end && load<u8>(p) == 0x2c) p = space(p + 1, end);
      }
    }
    throw new Error("the entry has no member " + name);
  }
}

const QUOTE: u8 = 0x22;

function isSpace(c: u8): bool {
  return c == 0x20 || c == 0x09 || c == 0x0a || c == 0x0d;
}

function space(p: usize, end: usize): usize {
  while (p < end && isSpace(load<u8>(p))) p++;
  return p;
}

function skipString(p: usize, end: usize): usize {
  for (p++; p < end && load<u8>(p) != QUOTE; p++) if (load<u8>(p) == 0x5c) p++;
  return p < end ? p + 1 : end;
}

/** The end of the value at p. */
function skip(p: usize, end: usize): usize {
  let depth = 0;
  while (p < end) {
    const c = load<u8>(p);
    if (c == QUOTE) {
      p = skipString(p, end);
    } else if (c == 0x7b || c == 0x5b) {
      depth++;
      p++;
    } else if (c == 0x7d || c == 0x5d) {
      depth--;
      p++;
    } else if (depth > 0 && (c == 0x2c || c == 0x3a)) {
      p++;
    } else {
      while (p < end) {
        const d = load<u8>(p);
        if (d == 0x2c || d == 0x7d || d == 0x5d || isSpace(d)) break;
        p++;
      }
    }
    if (depth <= 0) break;
    p = space(p, end);
  }
  return p;
}
