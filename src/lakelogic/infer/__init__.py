"""Drafts of contracts from data that has landed."""
