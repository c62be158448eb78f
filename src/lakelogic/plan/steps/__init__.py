"""Transformations to nodes: one small function per kind of step."""
