//! What the table and the rules say.
