"""Redon & Lin 2005: error-bounded quasi-statics of complex linkages; one file for each table and figure."""
