select r, n from run where r = any($1)
