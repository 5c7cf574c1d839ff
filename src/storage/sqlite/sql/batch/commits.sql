insert or rollback into "commit"(seq, id, entry, t, at, author, executor)
select * from (values (?, ?, ?, ?, ?, ?, ?)) where column1 is not null;
