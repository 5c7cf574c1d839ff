select n from search_hit where j = $1 and i >= $2 and i < $3 order by i
