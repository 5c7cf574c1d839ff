update model set updated = $2, rev = $3 where m = $1
