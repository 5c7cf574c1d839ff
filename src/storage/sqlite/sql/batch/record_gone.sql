delete from record where (t, kind, ns, name) = (?, ?, ?, ?);
