"""The references: each exercise's right answer, in steps that a known mistake can replace one by one."""
