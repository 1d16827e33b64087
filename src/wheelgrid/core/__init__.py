"""Pure values and laws: no input or output, no clock, no environment."""
