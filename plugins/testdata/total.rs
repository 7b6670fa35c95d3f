//! Acknowledges a body unless all its bytes are zero; with `input = "raw"`.
mod pipeline;

use pipeline::{Json, Outcome};

handler!(total, |input: Json| {
    let sum: u32 = input.bytes().iter().map(|&b| u32::from(b)).sum();
    Some(if sum > 0 { Outcome::Ack } else { Outcome::Drop })
});
