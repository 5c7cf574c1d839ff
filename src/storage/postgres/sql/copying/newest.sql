select seq, id from "commit" order by seq desc limit 1
