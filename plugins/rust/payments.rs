//! Screens payments: the handler of examples/handlers/payments.lua in Rust.
mod pipeline;

use pipeline::{reply, Json};

handler!(screen_payment, |input: Json| {
    let [id, amount] = input.inside("body")?.members(["id", "amount_cents"]);
    let suspicious = if amount?.number()? > 1_000_000.0 { "true" } else { "false" };
    Some(reply(["{\"payment_id\":", id?.json()?, ",\"suspicious\":", suspicious, "}"].concat()))
});
