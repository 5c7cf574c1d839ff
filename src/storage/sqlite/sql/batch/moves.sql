update entity set n = v.column2, state = v.column3
from (values (?, ?, ?)) v where entity.e = v.column1;
