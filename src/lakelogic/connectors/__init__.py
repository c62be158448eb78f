"""Rows from elsewhere: what a connector must do, and how one is found. No run reads through one yet."""
