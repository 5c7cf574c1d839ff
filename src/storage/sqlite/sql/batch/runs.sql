insert or rollback into run(r, t, q, n, status, out, timer, up, e, awaits, created, ended, state)
select * from (values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)) where column1 is not null;
