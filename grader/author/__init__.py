"""For people who write exercises: proofs that one holds, and the skeleton of a new one."""
