select seq, at from "commit" order by seq desc limit 1
