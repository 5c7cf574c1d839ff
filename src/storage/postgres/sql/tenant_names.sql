select t, name from tenant where t = any($1::bigint[])
