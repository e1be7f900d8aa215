//! Path patterns of rules, in gitignore form.
