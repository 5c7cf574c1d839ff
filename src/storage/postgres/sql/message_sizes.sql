-- The tenants and sizes in bytes of messages.
select id, t, octet_length(header)::bigint + octet_length(metadata) + octet_length(content)
from message
where id = any($1)
