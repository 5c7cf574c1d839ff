select seq, at, rev from "commit" order by seq desc limit 1
