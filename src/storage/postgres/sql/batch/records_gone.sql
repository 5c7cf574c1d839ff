records_gone as (
  delete from record using head, unnest(?::bigint[], ?::bigint[], ?::text[], ?::text[]) x(t, kind, ns, name)
  where record.t = x.t and record.kind = x.kind and record.ns = x.ns and record.name = x.name
)
