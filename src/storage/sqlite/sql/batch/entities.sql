insert or rollback into entity(e, id, m, n, state, live, created, workflow)
select * from (values (?, ?, ?, ?, ?, ?, ?, ?)) where column1 is not null;
