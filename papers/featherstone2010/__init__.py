"""Featherstone 2010: sparsity in operational-space dynamics; one file for each table and figure."""
