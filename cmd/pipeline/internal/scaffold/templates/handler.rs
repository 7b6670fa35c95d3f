//! {{.Name}}: say here what it does with an entry of the stream {{.Stream}}.
//!
//! input is a JSON object: the entry's body is its member "body", and beside it stand id, stream, group,
//! subscription, key, headers, deliveries, attempt, max_attempts, idle_ms and now_ms.
//!
//! Return what becomes of the entry: Outcome::Ack, Retry, Dead, Drop, or a reply, once the subscription has
//! a reply block: see pipeline.rs.
mod pipeline;

use pipeline::{Json, Outcome};

handler!(handle, |input: Json| {
    let _body = input.member("body")?;
    Some(Outcome::Ack)
});
