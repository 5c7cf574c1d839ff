-- Removes events; how many, and what they took.
with gone as (
  delete from topic_event where k <= $1 and at < $2
  returning octet_length(data) + coalesce(octet_length(id), 0)
    + coalesce(octet_length(key), 0) + coalesce(octet_length(type), 0) as bytes
)
select count(*), coalesce(sum(bytes), 0)::bigint from gone
