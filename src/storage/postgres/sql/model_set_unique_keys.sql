update model set unique_keys = $2, rev = $3 where m = $1
