select max(n) from version
