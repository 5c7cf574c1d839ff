insert or rollback into message(id, t, seq, header, metadata, content)
select * from (values (?, ?, ?, ?, ?, ?)) where column1 is not null;
