"""Chang & Khatib 2001: recursive operational space inertia matrix; one file for each table and figure."""
