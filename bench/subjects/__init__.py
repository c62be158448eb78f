"""Who is measured: each module starts once per process (`start`), then does the whole job as often as asked (`run`).

`run` tells which files hold good and bad rows, and in SQL how a bad row names the rules it breaks (`rules`).
"""
