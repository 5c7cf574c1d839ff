-- The next entities of a model in the order of their ids, as they are, to be put into an index.
select e.e, e.id, e.n, e.state, v.data from entity e join version v on v.n = e.n
where e.m = $1 and e.live and e.id > $2 order by e.id limit $3
