"""Do something to tables and their progress: run, replay, approve, export, mend."""
