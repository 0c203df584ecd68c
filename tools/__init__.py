"""The command line, `hlograph`: emit, run, opt and explain. Nothing else in the package imports this."""
