"""Shimanovskij: UDU' factorization of the mass matrix; one file for each table and figure."""
