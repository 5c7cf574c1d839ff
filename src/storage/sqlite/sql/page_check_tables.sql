-- The large ones last, since the time may not be enough for them.
select name from sqlite_schema where type = 'table'
order by name in ('version', 'search_key', 'message'), name
