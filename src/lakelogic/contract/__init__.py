"""What people wrote: frozen models of every document, and how they are read; knows no SQL and no engine."""
