-- What is recorded of one entity, newest first: its versions, and decisions that left it as it
-- was. A decision belongs to the first commit after it.
select x.n, x.kind, x.record, c.at, c.id as tx, c.entry,
  a.kind as author_kind, a.name as author_name, y.kind as executor_kind, y.name as executor_name
from (
  -- Each part is cut, so that a page costs what it returns.
  select * from (
    select v.n, v.kind, v.record, v.seq, v.author, v.executor
    from entity e
    join model m on m.m = e.m
    join version v on v.e = e.e
    where e.id = ?1 and m.t = ?2 and v.n <= ?3
    order by v.n desc
    limit +?4
  ) v
  union all
  select * from (
    select d.n, null, d.record, (select min(seq) from "commit" where seq > d.n), null, null
    from entity e
    join model m on m.m = e.m
    join decision d on d.e = e.e
    where e.id = ?1 and m.t = ?2 and d.n <= ?3
    order by d.n desc
    limit +?4
  ) d
) x
join "commit" c on c.seq = x.seq
join actor a on a.a = coalesce(x.author, c.author)
left join actor y on y.a = case when x.author is null then c.executor else x.executor end
order by x.n desc
limit +?4
