// {{.Name}}: say here what it does with an entry of the stream {{.Stream}}.
//
// The input is a JSON object: the entry's body is its member "body", and beside it stand id, stream, group,
// subscription, key, headers, deliveries, attempt, max_attempts, idle_ms and now_ms.
//
// Return what becomes of the entry: ACK, RETRY, DEAD, DROP, or a reply, once the subscription has a reply
// block: see pipeline.ts.
import { ACK, Json } from "./pipeline";

export { pipeline_abi_1, pipeline_alloc } from "./pipeline";

export function handle(p: usize, n: i32): u64 {
  new Json(p, n).member("body");
  return ACK;
}
