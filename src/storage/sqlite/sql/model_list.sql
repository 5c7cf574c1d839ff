select m, name, version, state, updated, rev from model where t = ?1 and state <> 'absent' order by name, version
