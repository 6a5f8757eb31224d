"""The words the whole loop speaks: states, loop, outcomes, messages, ports. Data only."""
