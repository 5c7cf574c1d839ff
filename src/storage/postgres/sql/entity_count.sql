select count(*) from entity where m = $1 and live
