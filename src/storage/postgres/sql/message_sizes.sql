-- Whose messages are, and how many bytes they have.
select id, t, octet_length(header)::bigint + octet_length(metadata) + octet_length(content)
from message
where id = any($1)
