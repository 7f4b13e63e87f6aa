"""Output of other programs, read line by line: eseutil, NTBACKUP, DBCC CHECKDB."""
