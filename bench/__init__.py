"""Measure LakeLogic against hand-written jobs, the pure cost of reading and writing, and its peers."""
