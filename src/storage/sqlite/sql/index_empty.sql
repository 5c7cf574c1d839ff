-- Removes some keys of an index.
delete from search_key
where p = ?1 and (key, e) <= (
  select key, e from (select key, e from search_key where p = ?1 order by key, e limit +?2)
  order by key desc, e desc limit 1
)
