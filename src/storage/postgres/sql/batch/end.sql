select exists(select from head)
