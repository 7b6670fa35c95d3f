// Acknowledges a body unless all its bytes are zero; with `input = "raw"`.
import { ACK, DROP } from "./pipeline";

export { pipeline_abi_1, pipeline_alloc } from "./pipeline";

export function total(p: usize, n: i32): u64 {
  let sum: u32 = 0;
  for (let i = 0; i < n; i++) sum += load<u8>(p + i);
  return sum > 0 ? ACK : DROP;
}
