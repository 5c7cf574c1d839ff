select j from search_job where expires is not null and expires <= $1 order by expires limit $2
