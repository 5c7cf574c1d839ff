select r, n from run where r in (select value from json_each(?1))
