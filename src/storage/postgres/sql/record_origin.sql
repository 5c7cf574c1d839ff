select c.seq, c.id, c.at, a.kind, a.name as author
from "commit" c
join actor a on a.a = c.author
where c.seq = $1
