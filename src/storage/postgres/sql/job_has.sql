select exists (select 1 from search_job where j = $1 and owner = $2::bigint)
