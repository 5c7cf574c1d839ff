-- The next entities of a model after an id, each as it was at a sequence, with how far that goes;
-- those that were not there have no version. Documents beyond $5 bytes are not in it. Entities that
-- are gone now may have been there then.
select p.id, v.n, octet_length(v.data)::bigint as bytes,
  case when octet_length(v.data) <= $5 then v.data end as data,
  v.state, coalesce(v.transition, '') as transition, p.created, c.at as updated, c.id as tx
from (
  (select id, e, n, created from entity where m = $1 and live and id > $2 order by id limit $4)
  union all
  (select id, e, n, created from entity where m = $1 and not live and id > $2 and n > $3 order by id limit $4)
  order by id limit $4
) p
left join version v on v.n = case when p.n <= $3 then p.n
  else (select max(o.n) from version o where o.e = p.e and o.n <= $3) end and v.kind <> 2
left join "commit" c on c.seq = v.seq
order by p.id
