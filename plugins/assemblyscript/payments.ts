// Screens payments: the handler of examples/handlers/payments.lua in
// AssemblyScript.
import { Json, reply } from "./pipeline";

export { pipeline_abi_1, pipeline_alloc } from "./pipeline";

export function screen_payment(p: usize, n: i32): u64 {
  const payment = new Json(p, n).member("body");
  const id = payment.member("id").json();
  const suspicious = payment.member("amount_cents").number() > 1000000;
  return reply('{"payment_id":' + id + ',"suspicious":' + (suspicious ? "true" : "false") + "}");
}
