select m, name, version, state, change_level, unique_keys, updated, rev from model where t = $1 and state <> 'absent' order by name, version
