"""Small changes to a file, one at a time: what the text of its lines says, and each change that may undo a mistake."""
