delete from member where i = $1 and id = $2
