-- scan_page
-- The next entities of a model after an id, each as it was at a sequence, as one row: their
-- documents one behind the other, and beside them lists of what belongs to each. A driver takes
-- longer for a row than the database does for a document, so many are returned at once.
-- Documents beyond ?5 bytes are not in it; their length is returned as -1.
-- Entities that are gone now may have been there then.
select
  count(*) as passed,
  max(p.id) as reached,
  group_concat(v.n) as positions,
  group_concat(iif(v.n is null, null, iif(octet_length(v.data) <= ?5, octet_length(v.data), -1))) as lengths,
  cast(group_concat(iif(v.n is null, null, p.id), '') as blob) as ids,
  group_concat(iif(octet_length(v.data) <= ?5, v.data, null), '') as documents
from (
  select id, e, n from entity where m = ?1 and live and id > ?2
  union all
  select id, e, n from entity where m = ?1 and not live and id > ?2 and n > ?3
  order by id limit +?4
) p
left join version v on v.n = iif(p.n <= ?3, p.n, (select max(n) from version where e = p.e and n <= ?3)) and v.kind <> 2
