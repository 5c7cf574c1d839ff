select m.i, m.id, m.tags from member m join tenant t using(t) where t.name = $1 order by m.id
