insert or rollback into run_key(t, kind, scope, key, r)
select * from (values (?, ?, ?, ?, ?)) where column1 is not null;
