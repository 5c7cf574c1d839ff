-- The same as `scan_page_with_lifecycle`, without what is known beside the documents.
select p.id, v.n, octet_length(v.data)::bigint as bytes,
  case when octet_length(v.data) <= $5 then v.data end as data
from (
  (select id, e, n from entity where m = $1 and live and id > $2 order by id limit $4)
  union all
  (select id, e, n from entity where m = $1 and not live and id > $2 and n > $3 order by id limit $4)
  order by id limit $4
) p
left join version v on v.n = case when p.n <= $3 then p.n
  else (select max(o.n) from version o where o.e = p.e and o.n <= $3) end and v.kind <> 2
order by p.id
