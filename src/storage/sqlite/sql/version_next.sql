select min(n) from version where n > ?1
