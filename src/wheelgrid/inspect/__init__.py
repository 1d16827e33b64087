"""What a wheel really contains; no torch, no process."""
