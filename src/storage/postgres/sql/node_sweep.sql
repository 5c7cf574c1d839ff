delete from node where beat < (extract(epoch from clock_timestamp()) * 1e6)::bigint - $1
