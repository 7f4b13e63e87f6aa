"""The kinds of sources that read files, for tests that hold for each of them."""

FILE_KINDS = {
    "evtx": "",
    "event_stream": "",
    "perfmon_csv": "",
    "eseutil_log": "    computer: ex01\n",
    "sqlserver_errorlog": "    computer: sql01\n",
    "ntbackup_log": "",
}
"""Type -> what its entry in a configuration needs beside `type` and `path`."""
