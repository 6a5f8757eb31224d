"""The command line: flags in, an agent driven, its updates rendered, an exit code out."""
