-- The newest commit, and the time of the server.
select seq, at, rev, server, (extract(epoch from clock_timestamp()) * 1000000)::bigint as now
from "commit" order by seq desc limit 1
