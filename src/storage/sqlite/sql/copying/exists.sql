select count(*) > 0 from sqlite_schema where type = 'table' and name = ?1
