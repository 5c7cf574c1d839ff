select header, metadata, content
from message
where id = $1 and t = $2
