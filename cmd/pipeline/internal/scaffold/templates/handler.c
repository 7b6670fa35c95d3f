/* {{.Name}}: say here what it does with an entry of the stream {{.Stream}}.
 *
 * input is a JSON object: the entry's body is its member "body", and beside it stand id, stream, group,
 * subscription, key, headers, deliveries, attempt, max_attempts, idle_ms and now_ms.
 *
 * Return what becomes of the entry: PIPELINE_ACK, PIPELINE_RETRY, PIPELINE_DEAD, PIPELINE_DROP, or a
 * reply, once the subscription has a reply block: see pipeline.h.
 */
#include "pipeline.h"

PIPELINE_HANDLER(handle) {
  pipeline_text body = pipeline_member(input, "body");
  return body.n > 0 ? PIPELINE_ACK : PIPELINE_DEAD;
}
