"""Foundation of all packages: names, units, globs, the options and the end of a command."""
