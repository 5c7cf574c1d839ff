messages_gone as (
  delete from message using head, unnest(?::uuid[], ?::bigint[]) x(id, t)
  where message.id = x.id and message.t = x.t
)
