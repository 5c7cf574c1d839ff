select n, body
from record
where t = $1 and kind = $2 and ns = $3 and name = $4
