insert or rollback into model_delta(m, n, delta)
select * from (values (?, ?, ?)) where column1 is not null;
