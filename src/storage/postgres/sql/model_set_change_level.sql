update model set change_level = $2 where m = $1
