-- Processes that have said lately that they use the database.
select string_agg(name, ', ') from node
where beat > (extract(epoch from clock_timestamp()) * 1000000)::bigint - 5000000
