delete from search_job where j = $1 and state <> 0
