select quick_check from pragma_quick_check(?)
