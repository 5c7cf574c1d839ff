update model set state = $2, rev = $3 where m = $1
