insert or replace into task(k, due, t, r, kind, name, body, tries)
select column1, column2, column3, column4, column5, '', '', 0 from (values (?, ?, ?, ?, ?)) where column1 is not null;
