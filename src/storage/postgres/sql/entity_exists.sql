select exists(select 1 from entity where m = $1 and live)
