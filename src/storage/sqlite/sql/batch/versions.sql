insert or rollback into version(n, e, m, seq, kind, state, transition, author, executor, data, record)
select * from (values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)) where column1 is not null;
