"""Masks and their keys."""
