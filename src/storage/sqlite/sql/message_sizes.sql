-- The tenants and sizes in bytes of messages, given as a JSON list of ids in hexadecimal.
select id, t, octet_length(header) + octet_length(metadata) + octet_length(content)
from message
where id in (select unhex(value) from json_each(?1))
