-- The next entities of a model in the order of their ids, as they are, to be put into an index. The
-- last row is the one whose document exceeds the limit of bytes.
select p.e, p.id, p.n, p.state, v.data
from (
  select *, sum(size) over (order by id rows unbounded preceding) - size as before
  from (
    select e.e, e.id, e.n, e.state, octet_length(v.data) as size
    from entity e join version v on v.n = e.n
    where e.m = ?1 and e.live and e.id > ?2 order by e.id limit +?3
  ) picked
) p
join version v on v.n = p.n
where p.before <= ?4 order by p.id
