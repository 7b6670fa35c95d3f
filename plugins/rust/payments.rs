//! Screens payments: the handler of examples/handlers/payments.lua in Rust.
mod pipeline;

use pipeline::{reply, Json};

handler!(screen_payment, |input: Json| {
    let payment = input.member("body")?;
    let id = payment.member("id")?.json()?;
    let suspicious = payment.member("amount_cents")?.number()? > 1_000_000.0;
    Some(reply(format!("{{\"payment_id\":{},\"suspicious\":{}}}", id, suspicious)))
});
