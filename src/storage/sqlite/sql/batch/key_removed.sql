delete from search_key where (p, key, e) = (?, ?, ?);
