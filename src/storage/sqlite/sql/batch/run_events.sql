insert or rollback into run_event(n, r, last, record)
select * from (values (?, ?, ?, ?)) where column1 is not null;
