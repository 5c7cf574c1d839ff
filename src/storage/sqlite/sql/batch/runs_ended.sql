update run set n = v.column2, status = v.column3, out = v.column4, timer = v.column5, awaits = v.column6, state = v.column7, ended = v.column8
from (values (?, ?, ?, ?, ?, ?, ?, ?)) v where run.r = v.column1;
