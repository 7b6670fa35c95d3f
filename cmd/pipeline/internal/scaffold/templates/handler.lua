-- {{.Name}}: say here what it does with an entry of the stream {{.Stream}}.
--
-- entry is the decoded body, compared with the type that the stream declares. ctx is about this delivery:
--
--   ctx.id, ctx.stream, ctx.group, ctx.subscription   where the entry comes from
--   ctx.key, ctx.headers                              its partition key, its headers by name
--   ctx.fields                                        its fields on the server, in order
--   ctx.deliveries, ctx.idle_ms                       how often it was delivered before, and how long it lay idle
--   ctx.attempt, ctx.max_attempts                     which attempt this is, from 1, and how many there are
--   ctx.now_ms                                        the time, the same during the whole call
--
-- Return what becomes of the entry:
--
--   ack()                                   it is done
--   retry()                                 not now: it comes back
--   retry{ after = "5s", reason = "why" }   not now: it comes back after this time
--   dead("why")                             it can never be done: a copy goes to the dead letters
--   drop("why")                             it is done away with, and counted
--
-- or a value, once the subscription has a reply block: it is published and the entry acknowledged in one step.
-- reply(value, { key = "k", headers = { name = "text" } }) says more about it. error("why") is a failed attempt:
-- it is tried again as the subscription's retry says, and then a dead letter. To return nothing is one too.
function handle(entry, ctx)
  return ack()
end
