"""Featherstone 2005: factorization of the joint-space inertia matrix; one file for each table and figure."""
