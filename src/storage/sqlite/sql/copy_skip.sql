-- An empty commit far behind the newest one, so that no position after the copy is given twice.
insert into "commit"(seq, id, t, at, author)
select seq + ?1, ?2, t, max(at + 1, ?3), author from "commit" order by seq desc limit 1
