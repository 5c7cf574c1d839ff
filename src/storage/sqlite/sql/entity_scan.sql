-- The next entities of a model in the order of their ids, each as it was at a sequence; those
-- that were not there have no version. Entities that are gone now may have been there then. The last
-- row is the one whose document exceeds the limit of bytes.
select p.e, p.n, v.kind <> 2 as live, v.state, v.transition, v.data, p.id, p.created, p.workflow, c.id as tx, c.at, m.name, m.version
from (
  select *, sum(size) over (order by id rows unbounded preceding) - size as before
  from (
    select e.*, v.n, coalesce(octet_length(v.data), 0) as size
    from (
      select e, id, m, created, workflow from (
        select e, id, m, created, workflow from entity where m = ?1 and live and id > ?2 order by id limit +?4
      )
      union all
      select e, id, m, created, workflow from (
        select e, id, m, created, workflow from entity where m = ?1 and not live and id > ?2 order by id limit +?4
      )
      order by id
      limit +?4
    ) e
    left join version v on v.n = (select max(n) from version where e = e.e and n <= ?3)
  ) sized
) p
left join version v on v.n = p.n
left join "commit" c on c.seq = v.seq
join model m on m.m = p.m
where p.before <= ?5
order by p.id
