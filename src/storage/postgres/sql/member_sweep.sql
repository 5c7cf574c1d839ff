delete from member m where not exists (select from node n where n.i = m.i)
