-- The newest versions of one entity, newest first.
select v.n, v.kind, c.at, c.id as tx,
  a.kind as author_kind, a.name as author_name, x.kind as executor_kind, x.name as executor_name
from entity e
join model m on m.m = e.m
join version v on v.e = e.e
join "commit" c on c.seq = v.seq
join actor a on a.a = coalesce(v.author, c.author)
left join actor x on x.a = case when v.author is null then c.executor else v.executor end
where e.id = $1 and m.t = $2 and v.n <= $3
order by v.n desc
limit $4
